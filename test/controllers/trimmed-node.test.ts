import t from 'tap'
import { type TrimmedNode, trimNode } from '../../controllers/informers/trimmed-node.ts'
import type { Node } from '../../shared/api/types.ts'

const conditions = [{ type: 'Ready', status: 'True' }]
const images = [{ names: ['app:1'], sizeBytes: 1 }]
const whole: Node = {
  metadata: {
    name: 'n',
    labels: { zone: 'a' },
    annotations: { 'example.com/note': 'long' },
    managedFields: [{ manager: 'kubelet' }],
  },
  spec: { unschedulable: true },
  status: {
    allocatable: { cpu: '4' },
    capacity: { cpu: '5' },
    conditions,
    images,
  },
}

t.test('a trimmed node keeps what control loops read', async (t) => {
  t.strictSame(trimNode(whole), {
    metadata: { name: 'n', labels: { zone: 'a' } },
    spec: { unschedulable: true },
    status: { allocatable: { cpu: '4' }, conditions, images },
  })
})

/** The type check is the test: a directive without an error below it is an error itself. */
t.test(
  'a loop that reads what is trimmed does not compile, nor one that takes a trimmed node for a whole one',
  async (t) => {
    const trimmed: TrimmedNode = trimNode(whole)
    // @ts-expect-error
    t.notOk(trimmed.status?.capacity)
    // @ts-expect-error
    t.notOk(trimmed.metadata.annotations)
    // @ts-expect-error
    t.notOk(trimmed.metadata.managedFields)
    const takeNode = ({ status }: Node) => status?.nodeInfo
    // @ts-expect-error
    t.notOk(takeNode(trimmed))
    const takeTrimmed = ({ spec }: TrimmedNode) => spec?.unschedulable
    t.ok(takeTrimmed(trimmed) && takeTrimmed(whole), 'what reads a kept field takes both')
  },
)
