import t from 'tap'
import { checkNode } from '../../library/supported-node.ts'

t.test('Nodes from 22.19 on run the library', (t) => {
  for (const version of ['22.19.0', '22.20.1', '23.0.0', '26.1.0']) t.doesNotThrow(() => checkNode(version), version)
  for (const version of ['20.20.2', '22.18.9'])
    t.throws(() => checkNode(version), { message: new RegExp(`needs Node 22\\.19 or newer; this is Node ${version} `) })
  t.end()
})
