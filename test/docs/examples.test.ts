import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { examplePort } from '../../cli/demo/example-port.ts'
import { repository } from '../harness/cluster.ts'

/** Where a manifest names the port of a server: its own call, its declaration, its probes and Services, its load. */
const portPatterns = [
  /\.listen\((\d+)/g,
  /\b(?:containerPort|targetPort): (\d+)/g,
  /\bport: (\d+)\}, period/g,
  /:\/\/pod:(\d+)/g,
]

t.test('servers of examples listen where development servers do not', (t) => {
  let count = 0
  for (const file of globSync('examples/{graceful-delete,tour,rehearse}/*.yaml', { cwd: repository })) {
    const text = readFileSync(join(repository, file), 'utf8')
    for (const pattern of portPatterns) {
      for (const [found, port] of text.matchAll(pattern)) {
        t.equal(Number(port), examplePort, `${file}: ${found}`)
        count++
      }
    }
  }
  t.ok(count > 10, `${count} ports`)
  t.end()
})
