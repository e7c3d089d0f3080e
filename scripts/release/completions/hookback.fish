# fish completion for hookback
complete -c hookback -n __fish_use_subcommand -f -a 'up ask hook wait install uninstall trust mcp policy server import service pair freeze report status doctor send verify receipt version'
