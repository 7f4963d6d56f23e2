import t from 'tap'
import { functionsIn, withoutLiterals } from '../../scripts/tidy.ts'

const names = (source: string): string[] =>
  functionsIn(source.split('\n')).map(({ name, line, length }) => `${name} ${line} ${length}`)

t.test('functions of every form are found, with their first line and their length', (t) => {
  const cases: [string, string[]][] = [
    ['function one() {\n  return 1\n}', ['one 1 3']],
    ['export async function two(\n  a: number,\n  { b }: { b: string },\n): Promise<void> {\n  a\n}', ['two 1 6']],
    ['const three = (a: number): void => {\n  a\n}', ['three 1 3']],
    ['export const four =\n  (a: number) =>\n  (b: number) => {\n    a\n  }', ['(callback) 3 3']],
    ['class A {\n  #five(a: number): void {\n    a\n  }\n}', ['#five 2 3']],
    ['class A {\n  static async six<T>(\n    a: T,\n  ): Promise<T> {\n    return a\n  }\n}', ['six 2 5']],
    [
      'class A {\n  get seven(): number {\n    return 7\n  }\n\n  constructor() {\n    this\n  }\n}',
      ['seven 2 3', 'constructor 6 3'],
    ],
    ['const table = {\n  eight(a: number) {\n    a\n  },\n  nine: () => {\n    9\n  },\n}', ['eight 2 3', 'nine 5 3']],
    ['list.map((one) => {\n  one\n})', ['(callback) 1 3']],
    ['function outer() {\n  return () => {\n    1\n  }\n}', ['outer 1 5', '(callback) 2 3']],
    ['function blank() {\n  1\n\n  2\n}', ['blank 1 5']],
  ]
  for (const [source, found] of cases) t.same(names(source), found, source.split('\n', 1).join())
  t.end()
})

t.test('blocks that are no functions are not found', (t) => {
  for (const source of [
    'if (a) {\n  b\n}',
    'for (const a of b) {\n  a\n}',
    'while (a) {\n  a\n}',
    'switch (a) {\n  default:\n}',
    'try {\n  a\n} catch (error) {\n  b\n} finally {\n  c\n}',
    'interface A {\n  b: string\n}',
    'class A {\n  b = 1\n}',
    'const a = {\n  b: 1,\n}',
    'call({\n  b: 1,\n})',
    'if (\n  a &&\n  b\n) {\n  c\n}',
  ])
    t.same(names(source), [], source.split('\n', 1).join())
  t.end()
})

t.test('texts, templates and regular expressions do not count as columns', (t) => {
  t.equal(withoutLiterals(`const a = '${'x'.repeat(200)}'`), 'const a = ``')
  t.equal(withoutLiterals('const a = `${b} and \\` more`'), 'const a = ``')
  t.equal(withoutLiterals('const a = /[/]x+/.test(b)'), 'const a = ``.test(b)')
  t.equal(withoutLiterals('const a = b / c // half'), 'const a = b / c // half')
  t.end()
})
