/** A bookmark is an object without anything, also in a table: its row must be made for each kind. */
import t from 'tap'
import { tableEncoder } from '../../apiserver/http/encode/watch-encoder.ts'
import { resources } from '../../apiserver/resources/index.ts'

t.test('the row of a bookmark can be made for each kind', async (t) => {
  for (const definition of resources.filter(({ verbs }) => !verbs || verbs.includes('watch'))) {
    const encoder = tableEncoder(definition, { version: 'v1', include: 'None', now: () => 0 })
    const line = String(encoder.encode([{ type: 'BOOKMARK', revision: 7, initialEventsEnd: true }]))
    const { object } = JSON.parse(line).object.rows[0]
    t.equal(object.metadata.annotations['k8s.io/initial-events-end'], 'true', definition.kind)
  }
})
