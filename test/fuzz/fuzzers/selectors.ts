/** Queries and selectors: what cannot be read is refused as the client's fault. */
import { parseRequestInfo } from '../../../apiserver/http/request-info.ts'
import { parseFieldSelector } from '../../../shared/api/selectors/field-selector.ts'
import { parseLabelSelector } from '../../../shared/api/selectors/label-selector.ts'
import { StatusError } from '../../../shared/api/status/status-error.ts'
import type { Fuzzer } from '../fuzzer.ts'
import type { Random } from '../random.ts'
import { assertSpoken } from '../spoken.ts'

const words = [
  'a',
  'app.kubernetes.io/name',
  'x-1',
  'in',
  'notin',
  'spec.nodeName',
  'metadata.name',
  '1',
  'é',
  '\u0000',
  '__proto__',
]
const signs = ['=', '==', '!=', '!', '(', ')', ',', ' ', '<', '>', '\\', '%', '&', '+', '/', '?', '#', '[', '*']

const selector = (random: Random): string =>
  random.times(12, () => (random.chance(0.5) ? random.pick(words) : random.pick(signs))).join('')

export const selectors: Fuzzer = {
  name: 'queries and selectors',
  attempts: 5_000,
  start: () => ({
    attempt(random) {
      const text = selector(random)
      assertSpoken(() => void parseLabelSelector(text))
      assertSpoken(() => void parseFieldSelector(text))
      const path = random
        .times(8, () =>
          random.pick(['api', 'apis', 'v1', 'pods', 'namespaces', '..', '%2e', '%', '', 'watch', 'proxy']),
        )
        .join('/')
      const query = random
        .times(4, () => `${random.pick(['watch', 'limit', 'labelSelector', 'continue', 'x'])}=${selector(random)}`)
        .join('&')
      try {
        parseRequestInfo(random.pick(['GET', 'POST', 'PATCH', 'DELETE', 'x']), `/${path}?${query}`)
      } catch (error) {
        if (!(error instanceof StatusError) || error.code >= 500) throw error
      }
    },
  }),
}
