/** Rules of the file that hookback policy init writes. */
export const starters: { title: string; calls: string; json: string }[] = [
  {
    title: 'Ask before a folder is deleted',
    calls: 'rm with the option -r or --recursive',
    json: '{"tool":"Bash","when":{"command":{"runs":"rm","option":["r","recursive"]}},"then":"ask","risk":"high","reason":"The command deletes a folder."}',
  },
  {
    title: 'Ask before something is published',
    calls: 'npm publish, docker push, gh release create and similar commands',
    json: String.raw`{"tool":"Bash","when":{"command":{"regex":"\\b(npm|pnpm|yarn|bun|cargo|gem|poetry|uv|docker|podman|helm)\\s+(\\S+\\s+)*(publish|push)\\b|\\btwine\\s+upload\\b|\\bgh\\s+release\\s+create\\b"}},"then":"ask","risk":"high","reason":"The command publishes a package, an image or a release."}`,
  },
  {
    title: 'Ask before keys or passwords are used',
    calls: 'Any tool with a .env file, or a file of .ssh, .gnupg, .aws or .kube',
    json: String.raw`{"tool":"*","when":{"file":{"regex":"(?i)(^|[/\\\\])(\\.(ssh|gnupg|aws|kube)[/\\\\]|\\.(netrc|pgpass)$|\\.env(\\.(local|dev|development|test|staging|prod|production))?$)"}},"then":"ask","risk":"high","reason":"The file contains keys or passwords."}`,
  },
]
