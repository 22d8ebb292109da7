#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares --help, the manual pages and the completion with the shared table of options, read from
# its source.
. "$(dirname "$0")/../lib.sh"

# rows: prints option<TAB>variable<TAB>values of each row of the table.
rows() {
    sed -n 's/^X(\([a-z_0-9]*\), "\([^"]*\)", "\([^"]*\)", [A-Z]*, "[^"]*", "\([^"]*\)".*/\2\t\3\t\4/p' \
        "$REGTRACE_SOURCE/base/options.def"
}
n=$(rows | wc -l)
[ "$n" -ge 40 ]
ok $? "the table has rows ($n)"
is "$n" "$(grep -c '^X(' "$REGTRACE_SOURCE/base/options.def")" 'every row was read'

run 20 "$REGTRACE" run --help
is "$status" 0 'run --help exits with 0'
help=$out
man=$("$REGTRACE" help --man run)
words=$("$REGTRACE" help --words run)
missing_help='' missing_man='' missing_words=''
while IFS=$'\t' read -r option variable _; do
    grep -qF -e "-$option" <<<"$help" && { grep -qF -e "$variable" <<<"$help" || [ "$option" = output ]; } || missing_help+=" $option"
    grep -qF -e "\\-${option//-/\\-}" <<<"$man" || missing_man+=" $option"
    grep -qxF -e "-$option" <<<"$words" || missing_words+=" $option"
done < <(rows)
is "$missing_help" '' 'every option and variable is in run --help'
is "$missing_man" '' 'every option is in the manual page'
is "$missing_words" '' 'every option is completed'

# The help and the manual name the default values of the table. Switches need none: they are off.
missing='' defaults=0
while IFS=$'\t' read -r variable default values; do
    [ "$default" != '' ] && [ "$values" != '' ] && [ "$values" != '0|1' ] || continue
    defaults=$((defaults + 1))
    tr -s ' \n' ' ' <<<"$help" | grep -qF -e "[$variable; default $default]" || missing+=" $variable"
    tr -s ' \n' ' ' <<<"$man" | grep -qF -e "(variable $variable, default ${default//-/\\-})" || missing+=" man:$variable"
done < <(sed -n 's/^X([a-z_0-9]*, "[^"]*", "\([^"]*\)", [A-Z]*, "\([^"]*\)", "\([^"]*\)".*/\1\t\2\t\3/p' "$REGTRACE_SOURCE/base/options.def")
is "$missing" '' "defaults are reported in the help and in the manual ($defaults)"
[ "$defaults" -ge 8 ]
ok $? 'and there are some'

main=$("$REGTRACE" help --man)
missing=''
while IFS=$'\t' read -r option variable _; do
    grep -qF -e "$variable" <<<"$main" || missing+=" $variable"
done < <(rows)
is "$missing" '' 'every variable is in regtrace(1)'

# Each subcommand: both forms of help agree, the build made the same manual page, and the formatter
# does not complain.
commands=$("$REGTRACE" help --words)
is "$(wc -w <<<"$commands")" 19 'nineteen subcommands'
for c in $commands; do
    run 20 "$REGTRACE" "$c" --help
    is "$status" 0 "$c --help exits with 0"
    like "$out" "usage: regtrace $c" "$c --help shows how it is called"
    is "$out" "$("$REGTRACE" help "$c")" "regtrace help $c is the same"
    cmp -s <("$REGTRACE" help --man "$c") "$REGTRACE_BUILD/share/man/man1/regtrace-$c.1"
    ok $? "the manual page of $c is what the command says"
    for o in $("$REGTRACE" help --words "$c"); do
        grep -qF -e "$o" <<<"$out" || ok 1 "$c $o is in its help"
    done
    like "$main" "regtrace.-$c" "regtrace(1) names $c"
done
if command -v groff >/dev/null; then
    for f in "$REGTRACE_BUILD"/share/man/man1/*.1; do
        said=$(groff -man -ww -Tutf8 "$f" 2>&1 >/dev/null)
        is "$said" '' "groff has nothing to say about $(basename "$f")"
    done
else
    skip 'groff reads the manual pages' 'groff is not installed'
fi

# Completion, as bash calls it.
complete_words() {
    PATH="$REGTRACE_BUILD:$PATH" bash -c '
        . "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _regtrace; printf "%s\n" "${COMPREPLY[@]}"' - \
        "$REGTRACE_SOURCE/share/completions/regtrace" "$@"
}
is "$(complete_words regtrace re | sort | tr '\n' ' ')" 'recover report ' 'completes a subcommand'
like "$(complete_words regtrace run -cont)" '^-control-file$' 'completes an option'
like "$(complete_words regtrace run --cont)" '^--control$' 'completes an option with two dashes'
like "$(complete_words regtrace report --j)" '^--json$' 'completes an option of another subcommand'
unlike "$(complete_words regtrace report -)" 'control' 'report has no options of run'
like "$(complete_words regtrace help d)" '^doctor$' 'help completes subcommands'
is "$(complete_words regtrace ctl "$T" f)" 'fire' 'ctl completes its requests'
like "$("$REGTRACE" --version)" '^regtrace [0-9]' '--version'
done_testing
