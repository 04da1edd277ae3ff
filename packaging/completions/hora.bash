# SPDX-License-Identifier: Apache-2.0
# hora.bash - complete the words of the command hora, in bash
#
# Everything that can be completed comes from the command itself, so this file does not have to be changed
# with it: the commands and options from `hora COMMAND --help`, jobs and runs from the runner that runs.
# In the help, the words JOB, RUN, TAG, FILE and DIR say what a value is; a|b are the values themselves.

# _hora_help WORD... - prints the help of a command
_hora_help() {
    command "$_hora_program" "$@" --help 2>/dev/null </dev/null
}

# _hora_commands - prints the commands that the help in $help lists, under any title but those of other lists
_hora_commands() {
    local line in_list=
    [[ ${help%%$'\n\n'*} == *COMMAND* ]] || return 0
    while IFS= read -r line; do
        case $line in
        Options: | Examples:) in_list= ;;
        [A-Z]*:) in_list=1 ;;
        "  "[a-z]*) [[ -z $in_list ]] || { line=${line#  }; printf '%s\n' "${line%% *}"; } ;;
        "   "* | "") ;;
        *) in_list= ;;
        esac
    done <<<"$help"
}

# _hora_options - prints a line for each option of the help in $help: its names, and the name of its value
_hora_options() {
    local line
    while IFS= read -r line; do
        [[ $line == "  -"* ]] || continue
        line=${line#  }
        line=${line%%  *}
        printf '%s\n' "${line//,/}"
    done <<<"$help"
}

# _hora_value OPTION - prints the name of the value of an option, and nothing if it takes none
_hora_value() {
    local line word
    [[ $1 != --zone ]] || { echo ZONE; return; }
    while IFS= read -r line; do
        for word in $line; do
            if [[ $word == "$1" ]]; then
                word=${line##* }
                [[ $word == -* ]] || printf '%s\n' "$word"
                return
            fi
        done
    done < <(_hora_options)
}

# _hora_ask - prints what the runner says about its jobs; it does not wait for one that is stuck
_hora_ask() {
    local limit=(timeout 2)
    type -P timeout >/dev/null || limit=(command)
    "${limit[@]}" "$_hora_program" list --json "${socket[@]}" 2>/dev/null </dev/null
}

_hora_jobs() {
    _hora_ask | grep -oE '"job" *: *"[^"]+"' | sed 's/.*"\([^"]*\)"$/\1/' | sort -u
}

_hora_runs() {
    _hora_ask | grep -oE '"[^"@ ]+@[^"@ ]+"' | tr -d '"' | sort -u
}

_hora_tags() {
    _hora_ask | tr -d '\n' | grep -oE '"tags" *: *\[[^]]*\]' | sed 's/^[^[]*//' | grep -oE '"[^"]+"' | tr -d '"' |
        sort -u
}

_hora_zones() {
    printf 'UTC\nlocal\n'
    [[ ! -r /usr/share/zoneinfo/tzdata.zi ]] ||
        awk '$1 == "Z" { print $2 } $1 == "L" { print $3 }' /usr/share/zoneinfo/tzdata.zi
}

# _hora_files -f|-d - appends files or folders
_hora_files() {
    compopt -o filenames
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$1" -- "$current")
}

# _hora_values KIND - appends the values of a kind that begin with $current to COMPREPLY
_hora_values() {
    local values=
    case $1 in
    *"|"*) values=${1//|/$'\n'} ;;
    JOB*) values=$(_hora_jobs) ;;
    RUN*) values=$(_hora_runs) ;;
    TAG) values=$(_hora_tags) ;;
    ZONE) values=$(_hora_zones) ;;
    FILE* | PATH*) _hora_files -f ;;
    DIR*) _hora_files -d ;;
    esac
    [[ -z $values ]] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$values" -- "$current")
}

# _hora_operands - appends what the usage lines of the help name: JOB, RUN, FILE, DIR
_hora_operands() {
    local usage kind
    usage=$(sed -n '/^Usage:/,/^$/p' <<<"$help")
    # Values of options, [-o FILE] and [--user NAME], are not operands.
    usage=$(sed -E 's/\[?-[^] ]*[ =][A-Z][A-Z]*\]?//g' <<<"$usage")
    for kind in JOB RUN FILE DIR; do
        [[ ! $usage =~ (^|[^A-Z])$kind([^A-Z]|$) ]] || _hora_values $kind
    done
}

# _hora_look - reads the words before the current one: sets help, socket, and option, the option whose value
# is to be completed
_hora_look() {
    local word words i path=()
    help=$(_hora_help)
    # The words as they were typed; bash divides them also at = and @.
    read -ra words <<<"${COMP_LINE:0:COMP_POINT}x"
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        option=
        case $word in
        --socket=*) socket=("$word") ;;
        -*=*) ;;
        -*)
            [[ -z $(_hora_value "$word") ]] || option=$word
            if [[ -n $option ]] && ((i + 1 < ${#words[@]} - 1)); then
                [[ $word != --socket ]] || socket=(--socket "${words[i + 1]}")
                option=
                i=$((i + 1))
            fi
            ;;
        *)
            if _hora_commands | grep -qxF -- "$word"; then
                path+=("$word")
                help=$(_hora_help "${path[@]}")
            fi
            ;;
        esac
    done
}

_hora() {
    local _hora_program=${COMP_WORDS[0]/#\~/$HOME} help option="" socket=() current bash_word prefix names
    COMPREPLY=()
    type -P "$_hora_program" >/dev/null || return 0
    _hora_look
    current=${COMP_LINE:0:COMP_POINT}
    current=${current##*[[:space:]]}
    bash_word=${COMP_WORDS[COMP_CWORD]:0:${#current}}
    [[ $bash_word != [=:@] ]] || bash_word=
    prefix=${current%"$bash_word"}
    if [[ -n $option ]]; then
        _hora_values "$(_hora_value "$option")"
    elif [[ $current == --*=* ]]; then
        option=${current%%=*}
        current=${current#*=}
        _hora_values "$(_hora_value "$option")"
        COMPREPLY=("${COMPREPLY[@]/#/$option=}")
    elif [[ $current == -* ]]; then
        names=$(_hora_options | grep -oE -- '(^| )--?[a-z][a-z-]*')
        mapfile -t COMPREPLY < <(compgen -W "$names" -- "$current")
    elif [[ -n $(_hora_commands) ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_hora_commands)" -- "$current")
    else
        _hora_operands
    fi
    # bash replaces only the part after the last =, or from the last @ on.
    prefix=${prefix%@}
    COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
}

complete -F _hora hora
