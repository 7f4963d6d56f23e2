/** What a server publishes about its answers, held against the answers: ajv reads its own OpenAPI documents. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { OpenApiDocument, Operation } from './facts.ts'

export interface ServedAnswer {
  method?: string
  /** With or without its query. */
  path: string
  status: number
  body: unknown
}

interface Route {
  pattern: RegExp
  methods: OpenApiDocument['paths'][string]
}

type Schema = Record<string, unknown>
const id = 'published'
const schemaPath = '#/components/schemas/'
const statusType = 'io.k8s.apimachinery.pkg.apis.meta.v1.Status'
const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

export class Contract {
  readonly #ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    logger: false,
    unicodeRegExp: false,
    formats: {
      int32: { type: 'number', validate: (value: number) => Number.isInteger(value) && Math.abs(value) <= 2 ** 31 },
      int64: { type: 'number', validate: (value: number) => Number.isInteger(value) },
      double: { type: 'number', validate: () => true },
      'date-time': dateTime,
      byte: base64,
      'int-or-string': true,
    },
  })
  readonly #routes: Route[]
  readonly #compiled = new Map<string, ValidateFunction>()

  constructor(documents: readonly OpenApiDocument[]) {
    const schemas = Object.assign({}, ...documents.map(({ components }) => components?.schemas))
    this.#ajv.addSchema(closed({ $id: id, components: { schemas } }))
    this.#routes = documents.flatMap(({ paths }) =>
      Object.entries(paths).map(([path, methods]) => ({ pattern: patternOf(path), methods })),
    )
  }

  /** Where the answer does not fit, a line each. Undefined where the documents name no schema for it. */
  problems(answer: ServedAnswer): string[] | undefined {
    const schema = this.#schemaOf(answer)
    if (!schema) return undefined
    const validate = this.#validatorOf(schema)
    return validate(answer.body)
      ? []
      : (validate.errors ?? []).filter((error) => !isNil(error, answer.body)).map(lineOf)
  }

  #schemaOf({ method = 'GET', path, status, body }: ServedAnswer): Schema | undefined {
    const [plain = ''] = path.split('?')
    // `{path}` of a proxy fits anything; a resource's own path is shorter than such a pattern and comes first.
    const route = this.#routes.find(({ pattern }) => pattern.test(plain))
    const operation = route?.methods[method.toLowerCase()] as Operation | undefined
    if (!operation) return undefined
    if (status >= 400 || isStatus(body)) return { $ref: `${schemaPath}${statusType}` }
    // Upstream's documents say Status for most deletes; a server answers with the object while it stays, and for some kinds always.
    const read = method === 'DELETE' ? (route?.methods.get as Operation | undefined) : undefined
    return (read ?? operation).responses[read ? 200 : status]?.content?.['application/json']?.schema
  }

  #validatorOf(schema: Schema): ValidateFunction {
    const text = JSON.stringify(schema).replaceAll(`"${schemaPath}`, `"${id}${schemaPath}`)
    const known = this.#compiled.get(text) ?? this.#ajv.compile(JSON.parse(text))
    this.#compiled.set(text, known)
    return known
  }
}

/** Go writes a nil list, pointer or time as null where its field has no `omitempty`; the documents do not mention it. */
const nilFields = new Set([
  ...['apiGroup', 'boundObjectRef', 'conditions', 'currentMetrics', 'drivers', 'limits', 'rules', 'topologyKeys'],
  ...['deprecatedFirstTimestamp', 'deprecatedLastTimestamp', 'eventTime', 'firstTimestamp', 'lastTimestamp'],
  ...['finishedAt', 'lastHeartbeatTime', 'lastProbeTime', 'lastTransitionTime', 'startedAt'],
])

function isNil({ keyword, instancePath }: ErrorObject, body: unknown): boolean {
  const keys = instancePath.split('/').slice(1)
  const value = keys.reduce<unknown>((one, key) => (one as Record<string, unknown> | null)?.[key], body)
  return keyword === 'type' && value === null && nilFields.has(keys.at(-1) ?? '')
}

const isStatus = (body: unknown): boolean => (body as { kind?: string } | null)?.kind === 'Status'

const lineOf = ({ instancePath, keyword, message, params }: ErrorObject): string =>
  `${instancePath} ${keyword}: ${message} ${params.additionalProperty ?? ''}`.trim()

function patternOf(path: string): RegExp {
  const text = path
    .replaceAll('.', '\\.')
    .replaceAll(/\{path\}/g, '.+')
    .replaceAll(/\{\w+\}/g, '[^/]+')
  return new RegExp(`^${text}$`)
}

/** Every field of an object has to be published: an object with properties has no others. */
function closed(value: unknown): Schema {
  if (Array.isArray(value)) return value.map(closed) as unknown as Schema
  if (typeof value !== 'object' || value === null) return value as unknown as Schema
  const schema: Schema = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, closed(one)]))
  const isOpen = 'additionalProperties' in schema || schema['x-kubernetes-preserve-unknown-fields'] === true
  return isPropertyMap(schema) && !isOpen ? { ...schema, additionalProperties: false } : schema
}

const isPropertyMap = ({ properties, type }: Schema): boolean => type === 'object' && typeof properties === 'object'
