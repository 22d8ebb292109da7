! SPDX-License-Identifier: BSD-3-Clause
!> Provides the named calls of regtrace.h for Fortran. Compile this file with the program, then:
!!
!!     use regtrace
!!     call regtrace_region_begin('solve')  ! fires pcontrol:solve; in windows, pushes a region
!!     call regtrace_region_end('solve')    ! pops it and fires pcontrol:end=solve
!!     call regtrace_start(.true.)          ! every thread; without an argument, the calling thread
!!     call regtrace_mark_set(1, 42)
!!
!! There is no library to link: the first call looks the functions up in libregtrace.so, which is
!! there if it is preloaded; otherwise all calls do nothing. (The lookup needs the C library's
!! dlsym: before glibc 2.34 link with -ldl.) Trailing blanks of names do not count. The module works
!! in programs with mpif.h, `use mpi` and `use mpi_f08`. regtrace.h and tutorial.md say what each
!! call does.
module regtrace
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_procpointer, c_funptr, c_int, c_long, &
      c_null_char, c_null_funptr, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64
  implicit none
  private

  public :: regtrace_start, regtrace_stop, regtrace_fire, regtrace_region_begin, regtrace_region_end
  public :: regtrace_mark_type, regtrace_mark_label, regtrace_mark_push, regtrace_mark_pop, regtrace_mark_set
  public :: regtrace_is_loaded

  !> Flags of regtrace_mark_type.
  integer, parameter, public :: REGTRACE_MARK_SINGLE = 0, REGTRACE_MARK_STACK = 1

  !> Events of regtrace_fire, and its argument `thread` for the calling thread.
  integer, parameter, public :: REGTRACE_THIS_THREAD = -1
  integer, parameter, public :: REGTRACE_EVENT_START = 0, REGTRACE_EVENT_STOP = 1, REGTRACE_EVENT_PRECOND = 2, &
      REGTRACE_EVENT_THREADID = 3, REGTRACE_EVENT_WARMUP_START = 4, REGTRACE_EVENT_WARMUP_STOP = 5, &
      REGTRACE_EVENT_PROLOG_START = 6, REGTRACE_EVENT_PROLOG_STOP = 7, REGTRACE_EVENT_EPILOG_START = 8, &
      REGTRACE_EVENT_EPILOG_STOP = 9, REGTRACE_EVENT_STATS_EMIT = 10, REGTRACE_EVENT_STATS_RESET = 11, &
      REGTRACE_EVENT_STATS_EMIT_RESET = 12

  interface regtrace_mark_label
    module procedure mark_label_32, mark_label_64
  end interface
  interface regtrace_mark_push
    module procedure mark_push_32, mark_push_64
  end interface
  interface regtrace_mark_pop
    module procedure mark_pop_32, mark_pop_64
  end interface
  interface regtrace_mark_set
    module procedure mark_set_32, mark_set_64
  end interface

  abstract interface
    subroutine edge_call(bcast) bind(C)
      import :: c_int
      integer(c_int), value :: bcast
    end subroutine
    subroutine fire_call(event, thread, bcast) bind(C)
      import :: c_int
      integer(c_int), value :: event, thread, bcast
    end subroutine
    subroutine region_call(name) bind(C)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine type_call(type, flags, title) bind(C)
      import :: c_char, c_int, c_long
      integer(c_int), value :: type
      integer(c_long), value :: flags
      character(kind=c_char), intent(in) :: title(*)
    end subroutine
    subroutine label_call(type, value, label) bind(C)
      import :: c_char, c_int, c_long
      integer(c_int), value :: type
      integer(c_long), value :: value
      character(kind=c_char), intent(in) :: label(*)
    end subroutine
    subroutine mark_call(type, value) bind(C)
      import :: c_int, c_long
      integer(c_int), value :: type
      integer(c_long), value :: value
    end subroutine
  end interface

  interface
    function dlsym(handle, name) bind(C, name='dlsym') result(address)
      import :: c_char, c_funptr, c_ptr
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function
  end interface

  ! Fortran has no weak symbols, so the first call looks up all functions by name. Threads that do
  ! so at the same time write the same values.
  integer, parameter :: START = 1, STOP_ = 2, REGION_BEGIN = 3, REGION_END = 4, MARK_TYPE = 5, MARK_LABEL = 6, &
      MARK_PUSH = 7, MARK_POP = 8, MARK_SET = 9, FIRE = 10
  character(len=12), parameter :: names(10) = [character(len=12) :: 'start', 'stop', 'region_begin', 'region_end', &
      'mark_type', 'mark_label', 'mark_push', 'mark_pop', 'mark_set', 'fire']
  type(c_funptr), save :: functions(10) = c_null_funptr
  logical, save, volatile :: looked = .false.

contains

  !> Returns whether libregtrace.so is preloaded.
  logical function regtrace_is_loaded()
    regtrace_is_loaded = found(START)
  end function

  logical function found(which)
    integer, intent(in) :: which
    integer :: i
    if (.not. looked) then
      do i = 1, size(names)
        functions(i) = dlsym(c_null_ptr, 'regtrace_' // names(i)(1:len_trim(names(i))) // c_null_char)
      end do
      looked = .true.
    end if
    found = c_associated(functions(which))
  end function

  subroutine edge(which, bcast)
    integer, intent(in) :: which
    logical, intent(in), optional :: bcast
    procedure(edge_call), pointer :: f
    logical :: everywhere
    if (.not. found(which)) return
    everywhere = .false.
    if (present(bcast)) everywhere = bcast
    call c_f_procpointer(functions(which), f)
    call f(merge(1_c_int, 0_c_int, everywhere))
  end subroutine

  !> Opens a window of the calling thread or, if bcast is true, of every thread of the process.
  subroutine regtrace_start(bcast)
    logical, intent(in), optional :: bcast
    call edge(START, bcast)
  end subroutine

  !> Closes it, in the same way.
  subroutine regtrace_stop(bcast)
    logical, intent(in), optional :: bcast
    call edge(STOP_, bcast)
  end subroutine

  !> Fires an event of the control language in a thread, by default the calling one; if bcast is
  !! true, for every thread of the process.
  subroutine regtrace_fire(event, thread, bcast)
    integer, intent(in) :: event
    integer, intent(in), optional :: thread
    logical, intent(in), optional :: bcast
    procedure(fire_call), pointer :: f
    integer :: target
    logical :: everywhere
    if (.not. found(FIRE)) return
    target = REGTRACE_THIS_THREAD
    if (present(thread)) target = thread
    everywhere = .false.
    if (present(bcast)) everywhere = bcast
    call c_f_procpointer(functions(FIRE), f)
    call f(int(event, c_int), int(target, c_int), merge(1_c_int, 0_c_int, everywhere))
  end subroutine

  subroutine region(which, name)
    integer, intent(in) :: which
    character(len=*), intent(in) :: name
    procedure(region_call), pointer :: f
    if (.not. found(which)) return
    call c_f_procpointer(functions(which), f)
    call f(name(1:len_trim(name)) // c_null_char)
  end subroutine

  !> Begins a named region: fires pcontrol:NAME and, in windows, pushes NAME.
  subroutine regtrace_region_begin(name)
    character(len=*), intent(in) :: name
    call region(REGION_BEGIN, name)
  end subroutine

  !> Ends a named region: in windows, pops it; fires pcontrol:end=NAME.
  subroutine regtrace_region_end(name)
    character(len=*), intent(in) :: name
    call region(REGION_END, name)
  end subroutine

  !> Names a type of marks, 0 to 99. flags: REGTRACE_MARK_SINGLE or REGTRACE_MARK_STACK.
  subroutine regtrace_mark_type(type, flags, title)
    integer, intent(in) :: type, flags
    character(len=*), intent(in) :: title
    procedure(type_call), pointer :: f
    if (.not. found(MARK_TYPE)) return
    call c_f_procpointer(functions(MARK_TYPE), f)
    call f(int(type, c_int), int(flags, c_long), title(1:len_trim(title)) // c_null_char)
  end subroutine

  subroutine mark_label_64(type, value, label)
    integer, intent(in) :: type
    integer(int64), intent(in) :: value
    character(len=*), intent(in) :: label
    procedure(label_call), pointer :: f
    if (.not. found(MARK_LABEL)) return
    call c_f_procpointer(functions(MARK_LABEL), f)
    call f(int(type, c_int), int(value, c_long), label(1:len_trim(label)) // c_null_char)
  end subroutine

  subroutine mark_label_32(type, value, label)
    integer, intent(in) :: type
    integer(int32), intent(in) :: value
    character(len=*), intent(in) :: label
    call mark_label_64(type, int(value, int64), label)
  end subroutine

  subroutine mark(which, type, value)
    integer, intent(in) :: which, type
    integer(int64), intent(in) :: value
    procedure(mark_call), pointer :: f
    if (.not. found(which)) return
    call c_f_procpointer(functions(which), f)
    call f(int(type, c_int), int(value, c_long))
  end subroutine

  subroutine mark_push_64(type, value)
    integer, intent(in) :: type
    integer(int64), intent(in) :: value
    call mark(MARK_PUSH, type, value)
  end subroutine

  subroutine mark_push_32(type, value)
    integer, intent(in) :: type
    integer(int32), intent(in) :: value
    call mark(MARK_PUSH, type, int(value, int64))
  end subroutine

  subroutine mark_pop_64(type, value)
    integer, intent(in) :: type
    integer(int64), intent(in) :: value
    call mark(MARK_POP, type, value)
  end subroutine

  subroutine mark_pop_32(type, value)
    integer, intent(in) :: type
    integer(int32), intent(in) :: value
    call mark(MARK_POP, type, int(value, int64))
  end subroutine

  subroutine mark_set_64(type, value)
    integer, intent(in) :: type
    integer(int64), intent(in) :: value
    call mark(MARK_SET, type, value)
  end subroutine

  subroutine mark_set_32(type, value)
    integer, intent(in) :: type
    integer(int32), intent(in) :: value
    call mark(MARK_SET, type, int(value, int64))
  end subroutine
end module regtrace
