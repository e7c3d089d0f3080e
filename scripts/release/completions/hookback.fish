# fish completion for hookback
complete -c hookback -n __fish_use_subcommand -f -a 'ask hook wait install uninstall trust mcp policy service freeze doctor send verify receipt statusline version'
