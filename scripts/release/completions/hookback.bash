# bash completion for hookback: commands, then files
_hookback() {
  local word=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W 'up ask hook wait install uninstall trust mcp policy server import service pair freeze report status doctor send verify receipt version' -- "$word")
  fi
}
complete -o default -F _hookback hookback
