import type { Schema } from 'js-yaml'
import { parseExact } from '../../../shared/api/json/exact-json.ts'
import { kubernetesSchema } from '../../../shared/api/json/yaml-schema.ts'
import { checkJsonValues, checkYamlValues } from '../../validation/body-values.ts'
import { findingsIn } from '../../validation/request-body.ts'
import { aliasProblem } from './yaml-aliases.ts'

/** The text is no YAML; the message is in the words of Go's parser. */
export class YamlError extends Error {}

export interface ParsedYaml {
  /** Holds the value of the first document; null if there is none. */
  value: unknown
  /** Lists what a strict reader reports about duplicate keys. The last of them counts. */
  duplicates: string[]
}

let schema: Schema | undefined

/**
 * Reads YAML 1.1 as Kubernetes does: `yes` is true, and times stay text. Rejects with a {@link YamlError}, or with a
 * StatusError (413) for more than `maxValues` values.
 */
export async function parseYaml(text: string, maxValues: number): Promise<ParsedYaml> {
  const json = asJson(text, maxValues)
  if (json) return { value: json, duplicates: [] }
  checkYamlValues(text, maxValues)
  if (/^%YAML (?!1\.1\s)/.test(text)) throw new YamlError('yaml: found incompatible YAML document')
  const yaml = await import('js-yaml')
  schema ??= kubernetesSchema(yaml, { exact: true })
  const read = (json: boolean): unknown => {
    const value = yaml.loadAll(text, { schema, json })[0] ?? null
    const problem = mayHaveAliases(text) ? aliasProblem(value, text, maxValues) : undefined
    if (problem) throw new YamlError(`yaml: ${problem}`)
    return value
  }
  try {
    return { value: read(false), duplicates: [] }
  } catch (error) {
    if (!(error instanceof yaml.YAMLException)) throw error
    if (error.reason !== 'duplicated mapping key') throw inGoWords(error, text)
    return { value: read(true), duplicates: [duplicatesIn(text, error.mark)] }
  }
}

/**
 * Looked for without a regular expression: these try again from each `&`, and a text may consist of them. So it is with
 * all below.
 */
function mayHaveAliases(text: string): boolean {
  const anchor = text.indexOf('&')
  return anchor !== -1 && text.includes('*', anchor)
}

/**
 * Most of what is sent as YAML is JSON, and read in a tenth of the time. Undefined for what YAML might read otherwise.
 */
function asJson(text: string, maxValues: number): object | undefined {
  if (!text.startsWith('{') || /\t|"<<"/.test(text)) return undefined
  checkJsonValues(text, maxValues)
  let value: object
  try {
    value = parseExact(text) as object
  } catch {
    return undefined
  }
  return findingsIn(text, value).duplicates.length === 0 ? value : undefined
}

function inGoWords(error: { reason: string; mark?: { line: number } }, text: string): YamlError {
  const line = error.mark?.line ?? 0
  const before = text.split('\n').slice(0, line + 1)
  if (/^\t/.test(before.at(-1) ?? '') || /cannot start any token/.test(error.reason)) {
    const place = line === 0 ? '' : `line ${line + 1}: ` // Go's scanner counts from the second line
    return new YamlError(`yaml: ${place}found character that cannot start any token`)
  }
  if (/[[{,:]\s*$/.test(text)) return new YamlError(`yaml: line ${line + 1}: did not find expected node content`)
  const alias = /^unidentified alias "(.*)"$/.exec(error.reason)?.[1]
  if (alias) return new YamlError(`yaml: unknown anchor '${alias}' referenced`)
  const open = openBracket(before.join('\n'))
  if (open) return new YamlError(`yaml: line ${open.line}: did not find expected ',' or '${open.closing}'`)
  if (error.reason === 'deficient indentation' || /end of the stream within/.test(error.reason))
    return new YamlError(`yaml: line ${text.split('\n').length}: found unexpected end of stream`)
  if (error.reason === 'bad indentation of a mapping entry' && /:\s[^#]*:\s/.test(before.at(-1) ?? '')) {
    const place = line === 0 ? '' : `line ${line + 1}: `
    return new YamlError(`yaml: ${place}mapping values are not allowed in this context`)
  }
  if (error.reason === 'bad indentation of a mapping entry' && line > 0)
    return new YamlError(`yaml: line ${line}: did not find expected key`)
  return new YamlError(`yaml: line ${line + 1}: ${error.reason}`)
}

/** The innermost flow collection that is not closed. */
function openBracket(text: string): { line: number; closing: string } | undefined {
  const open: { line: number; closing: string }[] = []
  let line = 1
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '\n') line++
    else if (char === '[' || char === '{') open.push({ line, closing: char === '[' ? ']' : '}' })
    else if (char === ']' || char === '}') open.pop()
    else if (char === '"' || char === "'") {
      const end = endOfQuoted(text, at)
      if (end === -1) break
      line += text.slice(at, end).split('\n').length - 1
      at = end
    }
  }
  return open.at(-1)
}

/** Returns the place of the quote that closes the one at `start`; -1 if there is none. */
function endOfQuoted(text: string, start: number): number {
  const quote = text[start]!
  if (quote === "'") return text.indexOf(quote, start + 1)
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === quote) return at
    if (text[at] === '\\') at++
  }
  return -1
}

/**
 * Finds keys of block mappings that stand twice, as a person would: same indentation, nothing of less between. Where
 * there is none, it is the key of a flow mapping (`{a: 1, a: 2}`) at which the parser stopped.
 */
function duplicatesIn(text: string, mark = { position: 0, line: 0 }): string {
  const open: { indent: number; keys: Set<string> }[] = []
  const found: string[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const entry = blockEntry(line)
    if (!entry) continue
    const { indent, isItem, key } = entry
    while (open.length > 0 && open.at(-1)!.indent > indent) open.pop()
    if (isItem && open.at(-1)?.indent === indent) open.pop()
    if (open.at(-1)?.indent !== indent) open.push({ indent, keys: new Set() })
    const { keys } = open.at(-1)!
    if (keys.has(key)) found.push(alreadySet(index, key))
    keys.add(key)
  }
  if (found.length === 0) found.push(alreadySet(mark.line, keyAt(text, mark.position)))
  return `yaml: unmarshal errors:\n${found.join('\n')}`
}

/** `line`: from 0 on. */
const alreadySet = (line: number, key: string): string =>
  `  line ${line + 1}: key ${JSON.stringify(key)} already set in map`

/** The key of a flow mapping that begins there; one in quotes begins behind the first. */
function keyAt(text: string, position: number): string {
  const quote = text[position - 1] ?? ''
  const end = quote === '"' || quote === "'" ? text.indexOf(quote, position) : text.indexOf(':', position)
  return text.slice(position, end === -1 ? undefined : end).trimEnd()
}

/** The key that a line of a block mapping begins with, plain or in quotes, behind the dashes of lists. */
function blockEntry(line: string): { indent: number; isItem: boolean; key: string } | undefined {
  const [lead = ''] = /^[- ]*/.exec(line) ?? []
  const indent = lead.endsWith('-') ? lead.lastIndexOf(' ') + 1 : lead.length
  const rest = line.slice(indent)
  const isQuoted = rest.startsWith('"') || rest.startsWith("'")
  const end = isQuoted ? rest.indexOf(rest[0]!, 1) + 1 : rest.search(/:(?:\s|$)/)
  if (end < 1 || !/^\s*:(?:\s|$)/.test(rest.slice(end))) return undefined
  const key = isQuoted ? rest.slice(1, end - 1) : rest.slice(0, end).trimEnd()
  if (!isQuoted && (/^[\s#[{&*!|>%@`]/.test(key) || key.includes('#'))) return undefined
  return { indent, isItem: lead.includes('-'), key }
}
