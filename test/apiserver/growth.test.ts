/**
 * What a write costs grows with what it holds and not faster: every list and map of every kind, once with 500 entries
 * and once with 4,000, valid or not. CPU time is measured, not the clock.
 */
import t from 'tap'
import { resources } from '../../apiserver/resources/index.ts'
import { hasStructType, structType, type ValueType } from '../../openapi/types.ts'
import { startTestApiServer } from '../harness/api-server.ts'

const few = 500
const many = 4_000
/** Eight times the entries cost eight times the work, and some more for garbage; what is quadratic costs 64 times. */
const mostGrowth = 30
/** Below, growth is noise. */
const leastMs = 80

type Path = readonly string[]
interface Collection {
  path: Path
  type: ValueType
}

t.setTimeout(600_000)
const server = await startTestApiServer(t)
const admin = server.client({ name: 'admin', groups: ['system:masters'] })
const seen = new Set<string>()

/** Lists and maps of a type, each field of each struct once over all kinds. */
function collectionsOf(name: string, path: Path): Collection[] {
  if (!hasStructType(name)) return []
  const { fields } = structType(name)
  return fields.flatMap((field) => {
    const key = `${name}.${field.name}`
    if (seen.has(key)) return []
    seen.add(key)
    const here = [...path, field.name]
    const { type } = field
    const inner = type.item ?? type
    const own = type.item ? [{ path: here, type }] : []
    const below =
      inner.kind === 'object' && inner.ref ? collectionsOf(inner.ref, type.item ? [...here, '0'] : here) : []
    return [...own, ...below]
  })
}

function entry(type: ValueType, index: number): unknown {
  switch (type.kind) {
    case 'object':
      return index % 2 ? {} : { name: `n${index}` }
    case 'string':
    case 'Quantity':
    case 'IntOrString':
      return `n${index}`
    case 'list':
      return []
    case 'map':
      return {}
    case 'bool':
      return true
    case 'bytes':
      return ''
    case 'Time':
    case 'MicroTime':
      return null
    default:
      return index
  }
}

function collection({ type }: Collection, size: number): unknown {
  const { item } = type
  const entries = Array.from({ length: size }, (_, index) => entry(item!, index))
  return type.kind === 'list' ? entries : Object.fromEntries(entries.map((value, index) => [`k${index}`, value]))
}

/** Sets what stands at a path, and makes what is missing on the way. */
function set(object: Record<string, unknown>, [name = '', ...rest]: Path, value: unknown): void {
  if (rest.length === 0) object[name] = value
  else if (rest[0] === '0') {
    const [first = {}] = (object[name] as object[] | undefined) ?? []
    object[name] = [first]
    if (rest.length > 1) set(first as Record<string, unknown>, rest.slice(1), value)
  } else {
    object[name] ??= {}
    set(object[name] as Record<string, unknown>, rest, value)
  }
}

let count = 0

async function costMs(kind: (typeof resources)[number], each: Collection, size: number): Promise<number> {
  const object = structuredClone(kind.example) as unknown as Record<string, unknown>
  const metadata = object.metadata as Record<string, unknown>
  metadata.name = `growth-${count++}`
  if (kind.namespaced) metadata.namespace = 'default'
  set(object, each.path, collection(each, size))
  const before = process.cpuUsage()
  const created = await admin.create(kind, object as never).catch(() => undefined)
  const { user, system } = process.cpuUsage(before)
  const name = (created as { metadata?: { name?: string } } | undefined)?.metadata?.name
  if (name) {
    const namespace = kind.namespaced ? 'default' : undefined
    await admin.delete(kind, { namespace, name }, { gracePeriodSeconds: 0 } as never).catch(() => {})
  }
  return (user + system) / 1000
}

for (const kind of resources) {
  if (kind.verbs && !kind.verbs.includes('create')) continue
  const collections = collectionsOf(kind.schema, [])
  if (collections.length === 0) continue
  t.test(`${kind.kind}.${kind.version}.${kind.group}: ${collections.length} lists and maps`, async (t) => {
    for (const each of collections) {
      const path = each.path.join('.')
      const large = await costMs(kind, each, many)
      if (large < leastMs) {
        t.pass(path)
        continue
      }
      const small = Math.min(await costMs(kind, each, few), await costMs(kind, each, few))
      const again = Math.min(large, await costMs(kind, each, many))
      t.ok(again < leastMs || again / small < mostGrowth, `${path}: ${small} ms for ${few}, ${again} ms for ${many}`)
    }
  })
}
