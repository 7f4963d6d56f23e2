/**
 * What a write costs grows with what it holds and not faster: every list and map of every kind, once with 500 entries
 * and once with 4,000, valid or not. CPU time is measured, not the clock.
 */
import t from 'tap'
import { resources } from '../../apiserver/resources/index.ts'
import type { ValueType } from '../../openapi/types.ts'
import { startTestApiServer } from '../harness/api-server.ts'
import { exampleWith, fieldsOf, type KindField } from '../harness/fields.ts'

const few = 500
const many = 4_000
/** Eight times the entries cost eight times the work, and some more for garbage; what is quadratic costs 64 times. */
const mostGrowth = 30
/** Below, growth is noise. */
const leastMs = 80

t.setTimeout(600_000)
const server = await startTestApiServer(t)
const admin = server.client({ name: 'admin', groups: ['system:masters'] })
const seen = new Set<string>()

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

function collection({ type }: KindField, size: number): unknown {
  const { item } = type
  const entries = Array.from({ length: size }, (_, index) => entry(item!, index))
  return type.kind === 'list' ? entries : Object.fromEntries(entries.map((value, index) => [`k${index}`, value]))
}

let count = 0

async function costMs(kind: (typeof resources)[number], each: KindField, size: number): Promise<number> {
  const object = exampleWith(kind, `growth-${count++}`, { path: each.path, value: collection(each, size) })
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
  const collections = fieldsOf(kind.schema, seen).filter(({ type }) => type.item)
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
