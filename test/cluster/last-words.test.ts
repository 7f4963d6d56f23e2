import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lastWords } from '../../cluster/supervisor/last-words.ts'

t.test('what a program said last is told with the news of its end', (t) => {
  const file = join(t.testdir(), 'kubelet.log')
  const said = (...lines: string[]): string => {
    writeFileSync(file, lines.map((line) => `${line}\n`).join(''))
    return lastWords(file)
  }
  t.equal(lastWords(file), `; it wrote nothing to ${file}`, 'nothing')
  t.equal(said(), `; it wrote nothing to ${file}`)
  t.equal(said('{"msg":"first"}', 'kubelet: no such flag'), `; its last words: kubelet: no such flag (${file})`)
  const logged = { level: 'warn', msg: 'a status could not be written', err: { message: 'the disk is full' } }
  t.equal(said(JSON.stringify(logged)), `; its last words: a status could not be written: the disk is full (${file})`)
  t.end()
})
