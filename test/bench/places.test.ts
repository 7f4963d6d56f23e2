import { readFileSync } from 'node:fs'
import t from 'tap'
import { figureNames } from '../../bench/compare/against.ts'
import { places } from './places.ts'

t.test('each figure of the speed gate has a place for a planted slow-down', async (t) => {
  t.same(Object.keys(places).sort(), [...figureNames].sort())
  for (const { file, before } of Object.values(places))
    t.equal(readFileSync(file, 'utf8').split(before).length, 2, `${file}: ${before}`)
})
