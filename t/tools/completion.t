#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Bash completion, called as bash calls it: it completes each command with every option of the
# command's table in the sources, and with no other.
. "$(dirname "$0")/../lib.sh"
source_of=$REGTRACE_SOURCE
mkdir -p "$T/empty/folder"
cd "$T/empty" || exit 99
: >file

# offered WORD...: prints the completions of the last word, one per line. Divides words at colons,
# as bash does.
offered() {
    PATH="$REGTRACE_BUILD:$PATH" bash --norc --noprofile -c '
        . "$1" || exit 99
        shift
        function=$(complete -p regtrace | sed -n "s/.*-F \([^ ]*\) regtrace$/\1/p")
        COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_WORDS=()
        for word in "$@"; do
            while [[ $word == *:* ]]; do
                [ "${word%%:*}" = "" ] || COMP_WORDS+=("${word%%:*}")
                COMP_WORDS+=(":")
                word=${word#*:}
                [ "$word" != "" ] || continue 2
            done
            COMP_WORDS+=("$word")
        done
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9 COMP_KEY=9
        "$function" regtrace "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}" 2>&1
        printf "%s\n" "${COMPREPLY[@]}"' - "$source_of/share/completions/regtrace" "$@"
}
# options_of COMMAND: prints the names in the command's own table, and for run those in the shared
# table of options. Reads both from the sources.
options_of() {
    local file
    file=$(find "$source_of/tools" -name "cmd_$1.c")
    sed -n '/^static const struct command_option '"$1"'_options/,/^}/s/^ *{"\([^"]*\)".*/\1/p' "$file"
    ! grep -q '"tools/channels/replay_options.def"' "$file" || sed -n 's/^ *{"\([^"]*\)".*/\1/p' "$source_of/tools/channels/replay_options.def"
    [ "$1" != run ] || sed -n 's/^X([a-z_0-9]*, "\([^"]*\)".*/\1/p' "$source_of/base/options.def"
}

is "$(offered regtrace '' | sort | tr '\n' ' ')" 'check ctl diff doctor dump emulate export help page plan prv recover report run skel split timeline values version ' 'the subcommands'
is "$(offered regtrace 'do')" doctor 'one of them by its beginning'
is "$(offered regtrace x)" '' 'nothing for what begins none'
total=0
for command in check ctl diff doctor dump emulate export page plan prv recover report run skel split timeline values; do
    mapfile -t options < <(options_of "$command" | sort -u)
    one=$(offered regtrace "$command" -) two=$(offered regtrace "$command" --) missing='' foreign=''
    for o in "${options[@]}"; do
        grep -qxF -e "-$o" <<<"$one" || missing+=" -$o"
        grep -qxF -e "--$o" <<<"$two" || missing+=" --$o"
    done
    is "$missing" '' "$command: each of its ${#options[@]} options is offered, with one dash and with two"
    for o in $one; do
        printf '%s\n' "${options[@]}" help | grep -qxF -e "${o#-}" || foreign+=" $o"
    done
    is "$foreign" '' "$command: and nothing else"
    total=$((total + ${#options[@]}))
done
[ "$total" -ge 55 ]
ok $? "the tables were read ($total options)"

like "$(offered regtrace run -o trace --exit)" '^--exit-on-stop$' 'options after the value of another'
is "$(offered regtrace run -regions: | sort | xargs)" 'epilog in prolog warmup' 'names with a colon: at the colon'
is "$(offered regtrace run --pcregions:)" 'in' 'a name with a colon: with two dashes'
is "$(offered regtrace run -reg | grep -c '^-regions:in$')" 1 'a name with a colon: before it'
is "$(offered regtrace report f | sort | tr '\n' ' ')" 'file folder ' 'files and folders where a run is named'
# Values, from the table in the sources: each value of an option with a closed set, and no other.
mapfile -t closed < <(sed -n 's/^X([a-z_0-9]*, "\([^"]*\)", "[A-Z_0-9]*", [A-Z]*, "[^"]*", "\([^"]*|[^"]*\)".*/\1 \2/p' "$source_of/base/options.def")
[ "${#closed[@]}" -ge 12 ]
ok $? "the sources have options with a closed set of values (${#closed[@]})"
wrong=''
for row in "${closed[@]}"; do
    want=$(tr '|' '\n' <<<"${row#* }" | grep -v '^[A-Z]' | sort | xargs)
    [ "$(offered regtrace run "-${row%% *}" '' | sort | xargs)" = "$want" ] || wrong+=" ${row%% *}"
done
is "$wrong" '' 'the values of each of them are offered after it'
is "$(offered regtrace run -pmu st)" step 'one of them by its beginning'
is "$(offered regtrace run --pmu = st)" step 'after = too'
is "$(offered regtrace run --full = | sort | xargs)" 'drop wait' 'all of them after ='
is "$(offered regtrace run -compress '' | xargs)" '0 1 2 3 4 5 6 7 8 9' 'digits'
is "$(offered regtrace run -control-file f | sort | xargs)" 'file folder' 'files where a file is named'
is "$(offered regtrace run -exit-on-stop f | sort | xargs)" 'file folder' 'a switch has no value'
is "$(offered regtrace report --window '' | xargs)" '' 'nothing where the value is no path'
is "$(offered regtrace run -sample f | xargs)" '' 'nor the names of files'
is "$(offered regtrace run -output f | xargs)" folder 'folders where a folder is named'
is "$(offered regtrace run -o f | xargs)" folder 'by its letter too'
is "$(offered regtrace run -control st | sort | xargs)" 'start: stats-emit-reset: stats-emit: stats-reset: stop:' 'events of a chain'
is "$(offered regtrace run --control start:ti | xargs)" timeout 'types after an event'
is "$(offered regtrace run -control start:timeout:1,sto | xargs)" '1,stop:' 'the next piece of a chain'
[ "$(uname -m)" = x86_64 ] && here=address || here=''
is "$(offered regtrace run -control start:addr | xargs)" "$here" 'no type that this build has no trigger for'
is "$(offered regtrace run -- ./p --)" '' 'after -- the words are the program'"'"'s'
is "$(offered regtrace skel '' | xargs)" 'analyze source replay stats' 'what skel does'
is "$(offered regtrace skel re | xargs)" replay 'one of them by its beginning'
is "$(offered regtrace skel replay f | sort | xargs)" 'file folder' 'after it runs and programs'
is "$(offered regtrace skel analyze -plan '' | sort | xargs)" 'addresses registers skeleton' 'plans'
is "$(offered regtrace skel replay -format '' | sort | xargs)" 'binary count hdf5 lackey text' 'formats of accesses'
is "$(offered regtrace skel stats --format = | sort | xargs)" 'csv json text' 'formats of statistics'
like "$(offered regtrace run -- ba)" '^bash$' 'which is a command'
is "$(offered regtrace ctl folder '' | sort | tr '\n' ' ')" 'close fire open status ' 'requests of ctl, after the folder'
is "$(offered regtrace help rep)" 'report' 'subcommands after help'
is "$(offered regtrace nonsense - 2>&1)" '' 'nothing, and no noise, for a subcommand that is none'
done_testing
