/** Rules of the file that hookback policy init writes. */
export const starters: { title: string; json: string }[] = [
  {
    title: 'Ask before a folder is deleted',
    json: '{"tool":"Bash","when":{"command":{"runs":"rm","option":["r","recursive"]}},"then":"ask","risk":"high","reason":"The command deletes a folder."}',
  },
  {
    title: 'Ask before something is published',
    json: String.raw`{"tool":"Bash","when":{"command":{"regex":"\\b(npm|pnpm|yarn|bun|cargo|gem|poetry|uv|docker|podman|helm)\\s+(\\S+\\s+)*(publish|push)\\b|\\btwine\\s+upload\\b|\\bgh\\s+release\\s+create\\b"}},"then":"ask","risk":"high","reason":"The command publishes a package, an image or a release."}`,
  },
  {
    title: 'Ask before keys or passwords are used',
    json: String.raw`{"tool":"*","when":{"file":{"regex":"(?i)(^|[/\\\\])(\\.(ssh|gnupg|aws|kube)[/\\\\]|\\.(netrc|pgpass)$|\\.env(\\.(local|dev|development|test|staging|prod|production))?$)"}},"then":"ask","risk":"high","reason":"The file contains keys or passwords."}`,
  },
]
