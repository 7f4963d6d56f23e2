import { parseStored, toJson } from '../../../shared/api/json/exact-json.ts'
import { dumpOptions } from '../../../shared/api/json/yaml-schema.ts'
import { type ListInParts, protobufList } from '../../protobuf/encode-list.ts'
import { joined } from '../../storage/packed-text.ts'
import type { JsonMap } from '../../values/json-map.ts'
import type { CachedObject } from '../../watchcache/cached-object.ts'
import { type Negotiated, notInProtobuf } from './negotiation.ts'
import { longParts } from './respond.ts'

/** A list in JSON, of which the elements are made when they are sent. */
export interface Elements {
  /** Ends where the first element follows. */
  begin: string
  items: readonly CachedObject[]
  /** Returns the JSON of one element, or what it is joined from. */
  element(item: CachedObject): string | readonly string[]
}

/** Describes how a list is written, piece by piece. */
export interface ListForm {
  begin: string | Buffer
  /** Encodes one element, whole or in parts, with what separates it from the one before. */
  piece(index: number): string | Buffer | readonly string[]
  end: string | Buffer
}

/** Runs a step for each element, and lets others have their turn in between; false: the client has left. */
export type EachElement = (step: (index: number) => void) => Promise<boolean>

/** Throws a StatusError where there is no such form; undefined when the client has left. */
export async function formOf(
  elements: Elements,
  { encoding, pretty }: { encoding: Negotiated['encoding']; pretty: boolean },
  each: EachElement,
): Promise<ListForm | undefined> {
  if (encoding === 'yaml') return yamlForm(elements)
  if (encoding === 'protobuf') return protobufForm(elements, each)
  return pretty ? prettyForm(elements) : jsonForm(elements)
}

/** Returns the JSON of an element after `before`, in parts. */
export function partsOf({ items, element }: Elements, index: number, before: string): string[] {
  const json = element(items[index]!)
  return longParts(typeof json === 'string' ? [before, json] : [before, ...json])
}

const jsonOf = (elements: Elements, index: number): string => joined(partsOf(elements, index, ''))
const elementOf = (elements: Elements, index: number): unknown => parseStored(jsonOf(elements, index))
const emptyList = ({ begin }: Elements): JsonMap => parseStored(`${begin}]}`) as JsonMap

const jsonForm = (elements: Elements): ListForm => ({
  begin: elements.begin,
  piece: (index) => partsOf(elements, index, index === 0 ? '' : ','),
  end: ']}\n',
})

/** Indents each line by two more spaces than the list does. */
function prettyForm(elements: Elements): ListForm {
  const begin = toJson(emptyList(elements), { indent: 2 }).slice(0, -']\n}'.length)
  const inner = '\n    '
  return {
    begin,
    piece(index) {
      const text = toJson(elementOf(elements, index), { indent: 2 })
      return (index === 0 ? inner : `,${inner}`) + text.replaceAll('\n', inner)
    },
    end: '\n  ]\n}',
  }
}

/** Keys are in order, so that some follow the elements. The parser is loaded by the few who want YAML. */
async function yamlForm(elements: Elements): Promise<ListForm> {
  const yaml = await import('js-yaml')
  const options = dumpOptions(yaml)
  const [begin = '', name = '', end = ''] = yaml.dump(emptyList(elements), options).split(/^(items|rows): \[\]\n/m)
  return { begin: `${begin}${name}:\n`, piece: (index) => yaml.dump([elementOf(elements, index)], options), end }
}

/** Bounds the bytes of elements that are kept after their lengths are known; the others are made again. */
const keptBytes = 4 * 1024 * 1024

/** The length of a message precedes it. */
async function protobufForm(elements: Elements, each: EachElement): Promise<ListForm | undefined> {
  const list = protobufList(emptyList(elements))
  if (!list) throw notInProtobuf(typeName(emptyList(elements)))
  const kept: Buffer[] = []
  let bytes = 0
  const measured = await each((index) => {
    const piece = pieceOf(list, elements, index)
    bytes += piece.length
    if (bytes <= keptBytes) kept.push(piece)
  })
  if (!measured) return undefined
  return {
    begin: list.begin(bytes),
    piece: (index) => kept[index] ?? pieceOf(list, elements, index),
    end: list.end,
  }
}

const pieceOf = (list: ListInParts, elements: Elements, index: number): Buffer =>
  list.item(elementOf(elements, index) as JsonMap)

const typeName = ({ kind }: JsonMap): string => (kind === 'Table' ? '*v1.Table' : '*unstructured.UnstructuredList')
