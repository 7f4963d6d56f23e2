/** Upstream: plugin/policy/validating/typechecking.go. */
import { type OpenApiSchema, openApiSchema, openApiSchemas, referredSchema } from '../../../openapi/schemas.ts'
import { compile } from '../../cel/environment.ts'
import { schemaType } from '../../cel/json-values.ts'
import { policyScopes } from '../../cel/policy-scopes.ts'
import type { CelType } from '../../cel/types.ts'
import type { JSONSchemaProps } from '../../schema/json-schema.ts'

export interface ExpressionWarning {
  fieldRef: string
  warning: string
}
export interface CheckedPolicy {
  spec: {
    paramKind?: { apiVersion?: string; kind?: string }
    matchConstraints?: {
      resourceRules?: { apiGroups?: string[]; apiVersions?: string[]; resources?: string[] }[]
    }
    variables?: { name?: string; expression?: string }[]
    validations?: { expression?: string; messageExpression?: string }[]
  }
}
export interface CheckedKind {
  group: string
  version: string
  plural: string
  kind: string
}
/** Offers the kinds that a server serves. */
export interface KnownKinds {
  kinds: readonly CheckedKind[]
  /** Returns the schema of a custom kind; undefined if it has none, and for built-in kinds. */
  customSchema(kind: Pick<CheckedKind, 'group' | 'version' | 'kind'>): JSONSchemaProps | undefined
}

const maxKinds = 10

/** Says what is wrong with the expressions of a policy, given the types of the objects that it is about. */
export function expressionWarnings({ spec }: CheckedPolicy, known: KnownKinds): ExpressionWarning[] {
  const typed = kindsOf(spec, known.kinds).flatMap((kind) => {
    const type = typeOf(kind, known)
    return type ? [{ kind, scope: scopeOf(spec, type, known) }] : []
  })
  const check = (fieldRef: string, expression: string): ExpressionWarning[] => {
    const texts = typed.flatMap(({ kind, scope }) => {
      const compiled = compile(expression, scope.variables)
      const isWrong = 'phase' in compiled && compiled.phase === 'compilation'
      return isWrong ? [`${printKind(kind)}: ${compiled.text}\n`] : []
    })
    return texts.length === 0 ? [] : [{ fieldRef, warning: texts.join('\n') }]
  }
  return (spec.validations ?? []).flatMap(({ expression = '', messageExpression }, index) => {
    const at = `spec.validations[${index}]`
    return [
      ...check(`${at}.expression`, expression),
      ...(messageExpression ? check(`${at}.messageExpression`, messageExpression) : []),
    ]
  })
}

const printKind = ({ group, version, kind }: Omit<CheckedKind, 'plural'>): string => `${group}/${version}, Kind=${kind}`

function scopeOf(spec: CheckedPolicy['spec'], object: CelType, known: KnownKinds) {
  const { apiVersion = '', kind = '' } = spec.paramKind ?? {}
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  const params = spec.paramKind && typeOf({ group, version, kind }, known)
  return policyScopes(spec, { always: true, objects: { object, params } }).validation
}

/** Kinds that the rules name, without those behind stars and subresources, in order. */
function kindsOf({ matchConstraints }: CheckedPolicy['spec'], kinds: readonly CheckedKind[]): CheckedKind[] {
  const found = new Map<string, CheckedKind>()
  for (const { apiGroups = [], apiVersions = [], resources = [] } of matchConstraints?.resourceRules ?? []) {
    if ([...apiGroups, ...apiVersions].some((name) => name.includes('*'))) continue
    const named = kinds.filter(
      ({ group, version, plural }) =>
        apiGroups.includes(group) && apiVersions.includes(version) && resources.includes(plural),
    )
    for (const kind of named.slice(0, maxKinds)) found.set(printKind(kind), kind)
    if (named.length >= maxKinds) break
  }
  return [...found.keys()].sort().map((name) => found.get(name)!)
}

/** Returns undefined if the kind has no schema. */
function typeOf(kind: Omit<CheckedKind, 'plural'>, { customSchema }: KnownKinds): CelType | undefined {
  const custom = customSchema(kind)
  const schema = custom ? withMetadata(custom) : builtInSchema(kind)
  return schema && schemaType(schema, kind.kind)?.type
}

const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'
const TEXT: JSONSchemaProps = { type: 'string' }
/** Completes the schema of a custom kind as a server publishes it: with the metadata of every object. */
const withMetadata = (schema: JSONSchemaProps): JSONSchemaProps => ({
  ...schema,
  properties: {
    ...schema.properties,
    apiVersion: TEXT,
    kind: TEXT,
    metadata: resolved(openApiSchema(OBJECT_META) ?? {}),
  },
})

function builtInSchema({ group, version, kind }: Omit<CheckedKind, 'plural'>): JSONSchemaProps | undefined {
  const found = openApiSchemas().find(([, { 'x-kubernetes-group-version-kind': kinds = [] }]) =>
    kinds.some((other) => other.group === group && other.version === version && other.kind === kind),
  )
  return found && resolved(found[1])
}

/** A schema without references. Its properties are resolved when they are read: types refer to themselves. */
function resolved(schema: OpenApiSchema): JSONSchemaProps {
  const name = referredSchema(schema)
  if (name !== undefined) return resolved(openApiSchema(name) ?? {})
  const { type, format, items, additionalProperties, properties } = schema
  if (schema.oneOf || type === undefined) return { 'x-kubernetes-int-or-string': true }
  const inner: JSONSchemaProps = { type, ...(format !== undefined && { format }) }
  if (items) inner.items = resolved(items)
  if (typeof additionalProperties === 'object') inner.additionalProperties = resolved(additionalProperties)
  if (properties) {
    inner.properties = {}
    for (const [key, property] of Object.entries(properties))
      Object.defineProperty(inner.properties, key, { enumerable: true, get: () => resolved(property) })
  }
  return inner
}
