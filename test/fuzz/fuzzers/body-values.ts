/** Values that are counted before a body is parsed: whatever YAML or JSON a parser takes, it makes no more than they allow. */
import * as yaml from 'js-yaml'
import { jsonValues, yamlValues } from '../../../apiserver/validation/body-values.ts'
import type { Fuzzer } from '../fuzzer.ts'
import type { Random } from '../random.ts'

const parts = [
  ...['a', 'b: ', '"c"', "'d'", '- ', '? ', ': ', ',', '[', ']', '{', '}', '\n', '\n  ', '\n- ', ' ', '[]', '{}', '1'],
  ...[
    '&x ',
    '*x',
    '<<: ',
    '!!str ',
    '|\n ',
    '>-\n  ',
    '---\n',
    '...\n',
    '# e\n',
    '\\"',
    'a: b\n',
    '[a: b]',
    '\r\n',
    '"{[,"',
  ],
]

/** Keys and values: all that is neither the beginning nor the end of something. */
const nodesOf = (text: string): number =>
  yaml.parseEvents(text, {}).filter(({ type }) => type !== yaml.EVENT_DOCUMENT && type !== yaml.EVENT_POP).length

function sizeOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, member) => sum + sizeOf(member), 1)
}

function anyJson(random: Random, depth = 0): unknown {
  const members = (): unknown[] => random.times(4, () => anyJson(random, depth + 1))
  if (depth > 4 || random.chance(0.4)) return random.pick(['', 'a,b', '{"[', '\\', 1, -0.5, null, true])
  if (random.chance(0.5)) return members()
  return Object.fromEntries(members().map((member, index) => [random.pick(['', '"', ',[{', `k${index}`]), member]))
}

/** How many keys and values there are at most for one that was counted; a document has two more. */
const mostForOne = 4

export const bodyValues: Fuzzer = {
  name: 'values of bodies',
  attempts: 4_000,
  start: () => ({
    attempt(random) {
      const value = anyJson(random)
      const json = JSON.stringify(value, undefined, random.pick([0, 1]))
      if (sizeOf(value) > 2 * jsonValues(json) + 1) throw new Error(`${jsonValues(json)} values counted in ${json}`)
      const text = random.chance(0.2) ? json : random.times(30, () => random.pick(parts)).join('')
      const counted = yamlValues(text)
      let nodes: number
      try {
        nodes = nodesOf(text)
      } catch (error) {
        if (error instanceof yaml.YAMLException) return
        throw error
      }
      if (nodes > mostForOne * (counted + 2))
        throw new Error(`${counted} counted of ${nodes} in ${JSON.stringify(text)}`)
    },
  }),
}
