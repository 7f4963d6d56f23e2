import { type OpenApiSchema, openApiSchema } from '../../../openapi/schemas.ts'
import { hasStructType, structType, zeroValue } from '../../../openapi/types.ts'
import { type Type, TypeCompiler } from './schema.ts'

const compiler = new TypeCompiler({
  schema: openApiSchema,
  zeroValue(type, name) {
    const field = hasStructType(type) ? structType(type).byName.get(name) : undefined
    return field?.always ? zeroValue(field.type) : undefined
  },
})

/** The type of a schema that came at run time; it may refer to built-in ones. */
export const compileType = (schema: OpenApiSchema): Type => compiler.compile(schema)

/** The type of a built-in kind, by its OpenAPI name. */
export const builtInType = (schema: string): Type => compiler.named(schema)
