function noSchemas(): never {
  throw new Error('no route has a schema')
}

/** Options of Fastify. Its own compilers of schemas would be loaded, and never used: 4 MB. */
export const withoutSchemas = {
  schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
}
