/** What a real server published, as `record.ts` wrote it. */
import { readFileSync } from 'node:fs'
import type { Facts, OpenApiDocument, Published } from './facts.ts'

export const recordingFile = new URL('real.json', import.meta.url)
/** Custom resources that the recording was made with: subresources, list kinds, several versions, all of a schema's keywords. */
export const customResources: CustomResource[] = JSON.parse(
  readFileSync(new URL('crds.json', import.meta.url), 'utf8'),
).items
interface CustomResource {
  spec: { group: string; versions: { name: string }[] }
}
const customPaths = customResources.flatMap(({ spec }) => spec.versions.map(({ name }) => `apis/${spec.group}/${name}`))

/** Every document of a server that has the custom resources. `get` reads a path as JSON. */
export async function readPublished(get: (path: string) => Promise<unknown>): Promise<Published> {
  const documents = async () => Object.keys(((await get('/openapi/v3')) as { paths: object }).paths)
  let paths = await documents()
  const endMs = Date.now() + 30_000
  for (; !customPaths.every((path) => paths.includes(path)); paths = await documents()) {
    if (Date.now() > endMs)
      throw new Error(`no documents for the custom resources in 30 s; there are ${paths.join(' ')}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const v3: Published['v3'] = {}
  for (const path of paths) v3[path] = (await get(`/openapi/v3/${path}`)) as OpenApiDocument
  return { v2: (await get('/openapi/v2')) as OpenApiDocument, v3 }
}

/** Parts of lines that occur often stand once, in `texts`; a line has `@` and their number. */
interface Packed {
  texts: string[]
  facts: Facts
}
const parts = (line: string): string[] => line.split(' | ')
const strings = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : typeof value === 'object' && value ? Object.values(value).flatMap(strings) : []
function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((one) => mapStrings(one, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mapStrings(one, map)]))
}

/** One path or schema a line, so that the differences between two recordings can be read. */
export function packed(facts: Facts): string {
  const counts = new Map<string, number>()
  for (const part of strings(facts).flatMap(parts)) counts.set(part, (counts.get(part) ?? 0) + 1)
  const texts = [...counts].filter(([text, count]) => count > 3 && text.length > 5).map(([text]) => text)
  const numbers = new Map(texts.map((text, index) => [text, `@${index}`]))
  const short = mapStrings(facts, (line) =>
    parts(line)
      .map((part) => numbers.get(part) ?? part)
      .join(' | '),
  )
  return `${JSON.stringify({ texts, facts: short }, null, 1).replaceAll(/\n {5,}/g, '')}\n`
}

export function readRecording(): Facts {
  const { texts, facts } = JSON.parse(readFileSync(recordingFile, 'utf8')) as Packed
  const full = (part: string): string => (/^@\d+$/.test(part) ? (texts[Number(part.slice(1))] ?? part) : part)
  return mapStrings(facts, (line) => parts(line).map(full).join(' | ')) as Facts
}
