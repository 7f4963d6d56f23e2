function noSchemas(): never {
  throw new Error('no route has a schema')
}

/** These options keep Fastify from loading its own schema compilers, which are never used and take 4 MB. */
export const withoutSchemas = {
  schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
}
