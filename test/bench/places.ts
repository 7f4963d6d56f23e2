/** Where time is spent for each request; a watch has a hundred deliveries for one. */
export const places: Record<string, { file: string; before: string; requests: number; unless?: string }> = {
  create: {
    file: 'apiserver/registry/writes/create-object.ts',
    before: '  const { definition, namespace, ',
    requests: 1,
  },
  get: {
    file: 'apiserver/http/verbs/get.ts',
    before: '  const { exchange, definition, target } = resource',
    requests: 1,
  },
  patch: {
    file: 'apiserver/registry/writes/update-object.ts',
    before: '  const { definition, namespace, ',
    requests: 1,
  },
  watch: {
    file: 'apiserver/watchcache/watch-group.ts',
    before: '    this.#pending.push(record)',
    requests: 100,
    unless: 'this.#sinks.size < 100',
  },
  start: { file: 'apiserver/server.ts', before: '  const { storage = createMemoryStorage() }', requests: 1 },
}
