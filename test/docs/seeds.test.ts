/** test/docs/seeds.md is held to its word: every row is complete, and every assertion that it names is written in the test it names. */
import t from 'tap'
import { parseProof, problemWith, readRows } from './seeds-page.ts'

const rows = readRows()

t.test('every row is complete', async (t) => {
  t.ok(rows.length > 180, `${rows.length} rows`)
  for (const { line, cells, proofs } of rows) {
    t.equal(cells.length, 3, line)
    for (const cell of cells) t.match(cell, /\S/, line)
    const isTested = !/^Not (built|tested): /.test(cells[1] ?? '')
    t.equal(proofs.length > 0, isTested, `names an assertion, or why there is none: ${line}`)
  }
})

t.test('every assertion is written where the page says', async (t) => {
  for (const { proofs } of rows) {
    for (const proof of proofs) t.equal(problemWith(proof), undefined, proof.text)
  }
})

t.test('what is not there is found', async (t) => {
  const wrong: [proof: string, problem: string][] = [
    ['kubelet/nowhere › a test › a message', 'there is no such file'],
    ['kubelet/decisions › nothing set', 'names no test'],
    ['kubelet/decisions › no such test › nothing set', 'there is no test "no such test"'],
    ['kubelet/decisions › restart policy › nothing set', 'its test has no such message'],
    ['scenarios/nowhere › c: TERM', 'is not there, or not played by npm test'],
    ['scenarios/hook-ok', 'names nothing in it'],
    ['scenarios/hook-ok › c: KILL', 'does not have, in this order: c: KILL'],
    ['scenarios/hook-ok › c: TERM › c: exec', 'does not have, in this order: c: exec'],
    ['scenarios/hook-ok › not: c: TERM › exited 0', 'has too early: c: TERM'],
    ['scenarios/hook-ok › c: exec › not: c: TERM', 'has too late: c: TERM'],
    ['recordings/static-pod › Running', 'is not there, or not played by npm test'],
    ['reasons/Deployment: scaled down › Update', 'does not have, in this order: Update'],
    ['reasons/Deployment: scaled up › Update', 'is not there, or not played by npm test'],
    ['answers/requests: no such case › 201', 'is not there, or not played by npm test'],
  ]
  for (const [proof, problem] of wrong) t.equal(problemWith(parseProof(proof)), problem, proof)
})
