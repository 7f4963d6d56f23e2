/** Functions as data: `string.charAt(int): string` with what it does. */
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  opaque,
  optionalOf,
  param,
  STRING,
  TIMESTAMP,
  typeOf,
  UINT,
} from './types.ts'

// biome-ignore lint/suspicious/noExplicitAny: each function takes values of the types that its signature names
export type Run = (...values: any[]) => unknown
export interface Overload {
  /** A member's first parameter is its target. */
  member: boolean
  params: CelType[]
  result: CelType
  /** True if types of its signature are parameters. */
  generic: boolean
  run: Run
}
export type Signature = readonly [signature: string, run: Run]

/**
 * All functions by name; a name's overloads in the order in which they are tried. Signatures are read when the first is
 * looked for.
 */
export class Functions {
  readonly #tables: readonly (readonly Signature[])[]
  #byName: Map<string, Overload[]> | undefined

  constructor(...tables: readonly (readonly Signature[])[]) {
    this.#tables = tables
  }
  find(name: string): Overload[] | undefined {
    this.#byName ??= this.#read()
    return this.#byName.get(name)
  }
  all(): ReadonlyMap<string, readonly Overload[]> {
    this.#byName ??= this.#read()
    return this.#byName
  }
  #read(): Map<string, Overload[]> {
    const byName = new Map<string, Overload[]>()
    for (const [signature, run] of this.#tables.flat()) addOverload(byName, signature, run)
    return byName
  }
}

function addOverload(byName: Map<string, Overload[]>, signature: string, run: Run): void {
  const [, target, name = '', parameters = '', result = ''] =
    /^(?:([\w<>, ]+)\.)??((?:(?:sets|strings|optional|format|ip|lists|cel|jsonpatch)\.)?[^\s.(]+)\((.*)\): (.+)$/.exec(
      signature,
    ) ?? []
  const params = splitTypes(parameters).map(parseType)
  if (target !== undefined) params.unshift(parseType(target))
  const type = parseType(result)
  const overload: Overload = {
    member: target !== undefined,
    params,
    result: type,
    generic: [...params, type].some(isGeneric),
    run,
  }
  const known = byName.get(name)
  if (known) known.push(overload)
  else byName.set(name, [overload])
}

const isGeneric = ({ kind, params }: CelType): boolean => kind === 'param' || params.some(isGeneric)

const NAMED: Record<string, CelType> = {
  dyn: DYN,
  null: NULL,
  bool: BOOL,
  int: INT,
  uint: UINT,
  double: DOUBLE,
  string: STRING,
  bytes: BYTES,
  timestamp: TIMESTAMP,
  duration: DURATION,
  Quantity: opaque('kubernetes.Quantity'),
  Semver: opaque('kubernetes.Semver'),
  URL: opaque('kubernetes.URL'),
  IP: opaque('net.IP'),
  CIDR: opaque('net.CIDR'),
  Format: opaque('kubernetes.NamedFormat'),
  Authorizer: opaque('kubernetes.authorization.Authorizer'),
  PathCheck: opaque('kubernetes.authorization.PathCheck'),
  GroupCheck: opaque('kubernetes.authorization.GroupCheck'),
  ResourceCheck: opaque('kubernetes.authorization.ResourceCheck'),
  Decision: opaque('kubernetes.authorization.Decision'),
}

function parseType(text: string): CelType {
  const [, outer, inner] = /^(list|map|optional|type)<(.+)>$/.exec(text) ?? []
  const [first = DYN, second = DYN] = inner === undefined ? [] : splitTypes(inner).map(parseType)
  switch (outer) {
    case 'list':
      return listOf(first)
    case 'map':
      return mapOf(first, second)
    case 'optional':
      return optionalOf(first)
    case 'type':
      return typeOf(first)
    default:
      return NAMED[text] ?? param(text)
  }
}

/** Splits at commas that stand in no angle brackets. */
const splitTypes = (text: string): string[] => (text === '' ? [] : text.split(/, (?![^<]*>)/))
