import { notFound } from '../../../shared/api/status/status-errors.ts'
import type { KubeObject } from '../../../shared/api/types.ts'
import { negotiate } from '../encode/negotiation.ts'
import type { Handler } from '../handler.ts'
import { parseListOptions } from '../options/list-options.ts'
import { sendVirtual, sendVirtualList } from './virtual-answers.ts'

/** The parts of a control plane. Here they are one process: if it answers, all of them are healthy. */
const components = ['scheduler', 'controller-manager', 'etcd-0']

const statusOf = (name: string): KubeObject => ({
  metadata: { name },
  conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }],
})

export const listComponentStatuses: Handler = (api, asked) => {
  parseListOptions(asked.exchange.info.query, asked.definition, false)
  sendVirtualList(api, asked, components.map(statusOf))
}

export const getComponentStatus: Handler = (api, asked) => {
  const { name = '' } = asked.target
  negotiate(asked.exchange.request.headers.accept, false)
  if (!components.includes(name)) throw notFound({ group: '', plural: 'componentstatus' }, name)
  sendVirtual(api, asked, statusOf(name))
}
