import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { matchesFields, parseFieldSelector } from '../../shared/api/selectors/field-selector.ts'
import {
  fromSelectorObject,
  type LabelSelectorObject,
  matchesLabels,
  parseLabelSelector,
  selectsLabels,
} from '../../shared/api/selectors/label-selector.ts'

interface Scenario {
  name: string
  steps: { path?: string; method?: string; answer?: { status: number; body?: { message?: string } } }[]
}
const lists = JSON.parse(readFileSync(new URL('../golden/api/lists.json', import.meta.url), 'utf8')) as Scenario[]

t.test('selectors are refused, or not, in the words of a real server', async (t) => {
  let refusals = 0
  for (const { name, steps } of lists.filter(({ name }) => /^(labels|fields): /.test(name))) {
    for (const { path, answer } of steps) {
      if (!path || !answer) continue
      const query = new URL(path.replaceAll('{{ns}}', 'ns'), 'https://host').searchParams
      const message = answer.status === 400 ? answer.body?.message : undefined
      // Which fields a kind knows is not a matter of grammar.
      if (message && /not (a known|supported)/.test(message)) continue
      const parse = () => {
        parseLabelSelector(query.get('labelSelector') ?? '')
        parseFieldSelector(query.get('fieldSelector') ?? '')
      }
      if (message) {
        refusals++
        t.throws(parse, new Error(message), `${name}: ${path}`)
      } else t.doesNotThrow(parse, `${name}: ${path}`)
    }
  }
  t.ok(refusals > 20)
})

const labels = { app: 'web', n: '5', empty: '' }
const cases: [selector: string, matches: boolean][] = [
  ['', true],
  ['app=web', true],
  ['app==web,n', true],
  ['app!=web', false],
  ['none!=web', true],
  ['app in (db, web)', true],
  ['app notin (db,web)', false],
  ['none notin ()', true],
  ['empty notin ()', false],
  ['empty=', true],
  ['!none,!other', true],
  ['!app', false],
  ['n>4,n<6', true],
  ['app>4', false],
]
for (const [selector, matches] of cases) {
  t.equal(matchesLabels(parseLabelSelector(selector), labels), matches, `labels: ${selector}`)
}

t.test('the selector of a spec', async (t) => {
  const selects = (selector: LabelSelectorObject | undefined, own: Record<string, string>): boolean => {
    const requirements = fromSelectorObject(selector)
    const selected = requirements !== undefined && matchesLabels(requirements, own)
    t.equal(selectsLabels(selector, own), selected, JSON.stringify([selector, own]))
    return selected
  }
  t.notOk(selects(undefined, labels))
  t.ok(selects({}, labels))
  const selector = {
    matchLabels: { app: 'web' },
    matchExpressions: [
      { key: 'n', operator: 'In', values: ['4', '5'] },
      { key: 'none', operator: 'DoesNotExist' },
    ],
  }
  t.ok(selects(selector, labels))
  t.notOk(selects(selector, { ...labels, none: '' }))
  t.notOk(selects(selector, { ...labels, app: 'db' }))
  t.notOk(selects({ matchLabels: { constructor: 'x' } }, labels))
  t.throws(() => selectsLabels({ matchExpressions: [{ key: 'n', operator: 'Near' }] }, labels), /not a valid label/)
})

t.test('a field value survives escaping', async () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (value, other) => {
      const escaped = value.replace(/[\\,=]/g, '\\$&')
      const selector = parseFieldSelector(`a.b=${escaped},c!=${escaped}x`)
      const fieldOf = (field: string) => (field === 'a.b' ? value : other)
      return matchesFields(selector, fieldOf) === (other !== `${value}x`)
    }),
  )
})
