/** The whole API in the older format, Swagger 2.0. */
import { knownGroupVersions } from '../../../openapi/options.ts'
import type { SwaggerPart } from '../../aggregation/openapi-document.ts'
import type { ResourceDefinition } from '../../kind/resource-definition.ts'
import {
  bearerToken,
  commonFacts,
  extensionsOf,
  info,
  nameEverywhere,
  openapiParts,
  pathsOf,
  reasons,
  schemasOf,
} from './documents.ts'
import { type Operation, TEXT } from './operations.ts'
import type { OpenApiParameter } from './parameters.ts'
import { swaggerSchemas } from './v2-schema.ts'

const ref = (schema: string) => (schema === TEXT ? { type: TEXT } : { $ref: `#/definitions/${schema}` })

/** Parameters that kubectl looks for where they are used, and those that speak of one kind. */
const unshared = new Set(['name', 'dryRun', 'fieldValidation'])
const isShared = ({ name, schema }: Swagger): boolean =>
  schema ? schema.$ref?.startsWith('#/definitions/io.k8s.apimachinery') === true : !unshared.has(name)
interface Swagger {
  name: string
  in: string
  schema?: { $ref?: string; type?: string }
  [key: string]: unknown
}

/** Parameters that stand once, in `parameters`. Upstream: kube-openapi's builder/parameters.go. */
class SharedParameters {
  readonly #byName = new Map<string, Swagger>()
  readonly #names = new Map<string, string>()

  /** As it stands in an operation: a reference, if it is shared. */
  used(parameter: Swagger): object {
    if (!isShared(parameter)) return parameter
    const json = JSON.stringify(parameter)
    const name = this.#names.get(json) ?? `${parameter.name}-${fnv64(json)}`
    this.#names.set(json, name)
    this.#byName.set(name, parameter)
    return { $ref: `#/parameters/${name}` }
  }

  all(): Record<string, Swagger> {
    return Object.fromEntries([...this.#byName].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}
/** The first 48 bits of Go's `fnv.New64`. */
function fnv64(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, hash * 0x100000001b3n) ^ BigInt(byte)
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(hash)
  return bytes.toString('base64url', 0, 6)
}

const swaggerParameter = ({ name, in: place, description, type }: OpenApiParameter): Swagger => ({
  uniqueItems: true,
  type,
  description,
  name,
  in: place,
  ...(place === 'path' && { required: true }),
})

export function openapiV2(definitions: readonly ResourceDefinition[]): object & SwaggerPart {
  const operations = openapiParts(definitions).flatMap((part) => part.operations())
  const parameters = new SharedParameters()
  const operationIn = (operation: Operation, own: OpenApiParameter[]): object => {
    const { body, consumes, produces, answers } = operation
    const sent: Swagger[] = own.map(swaggerParameter)
    if (body) {
      sent.push({ name: 'body', in: 'body', ...(body.required && { required: true }), schema: ref(body.schema) })
    }
    sent.sort((a, b) => (a.name < b.name ? -1 : 1))
    const responses = Object.entries(answers).map(([code, schema]): [string, object] => [
      code,
      { description: reasons[code], schema: ref(schema) },
    ])
    return {
      ...commonFacts(operation),
      consumes,
      produces,
      schemes: ['https'],
      ...(sent.length > 0 && { parameters: sent.map((parameter) => parameters.used(parameter)) }),
      responses: { ...Object.fromEntries(responses), 401: { description: reasons[401] } },
      ...extensionsOf(operation),
    }
  }
  const paths = pathsOf(operations, operationIn, (parameter) => parameters.used(swaggerParameter(parameter)))
  const schemas = nameEverywhere(schemasOf(operations, definitions), knownGroupVersions())
  const document = {
    swagger: '2.0',
    info,
    paths,
    definitions: swaggerSchemas(schemas),
    parameters: parameters.all(),
    securityDefinitions: bearerToken,
    security: [{ BearerToken: [] }],
  }
  return document
}
