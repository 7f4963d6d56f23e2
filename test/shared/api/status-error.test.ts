import t from 'tap'
import { ignoreNotFound, ignoring, StatusError } from '../../../shared/api/status/status-error.ts'

const failure = (reason: string, code: number): StatusError => new StatusError({ reason, code, message: reason })
const notFound = failure('NotFound', 404)
const conflict = failure('Conflict', 409)

t.test('only what is named is ignored', async (t) => {
  t.equal(await Promise.reject(notFound).catch(ignoreNotFound), undefined)
  t.equal(await Promise.resolve(1).catch(ignoreNotFound), 1)
  await t.rejects(Promise.reject(conflict).catch(ignoreNotFound), conflict)
  t.equal(await Promise.reject(conflict).catch(ignoring('NotFound', 'Conflict')), undefined)
  const lookalike = Object.assign(new Error('NotFound'), { reason: 'NotFound' })
  await t.rejects(Promise.reject(lookalike).catch(ignoreNotFound), lookalike)
})
