! SPDX-License-Identifier: BSD-3-Clause
! Every named call once, for t/share/named_calls.t.
program named_calls
  use regtrace
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  character(len=20) :: padded = 'solve'
  call regtrace_start()
  call regtrace_mark_type(7, REGTRACE_MARK_STACK, 'phases of the day')
  call regtrace_mark_label(7, 3, 'noon')
  call regtrace_region_begin(padded)
  call regtrace_mark_push(7, 3)
  call regtrace_mark_pop(7, 3)
  call regtrace_mark_set(8, 5000000000_int64)
  call regtrace_region_end(padded)
  call regtrace_stop()
  call regtrace_start(.true.)
  call regtrace_stop(.true.)
  call regtrace_fire(REGTRACE_EVENT_WARMUP_START, 3, .true.)
  call regtrace_fire(REGTRACE_EVENT_STATS_EMIT)
  print '(a)', 'done'
end program named_calls
