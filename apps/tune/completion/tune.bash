# Completion of tune's commands, options, experiments and trials for bash. The program itself knows
# what fits, so this file fits every version; where it has nothing to say, bash offers files.
_tune() {
  local IFS=$'\n'
  COMPREPLY=($("$1" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  case "${COMPREPLY[0]-}" in
    */) compopt -o nospace ;;  # there is more below a directory
  esac
}
complete -o default -F _tune tune
