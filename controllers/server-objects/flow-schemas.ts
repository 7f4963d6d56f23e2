import type { V1FlowSchema, V1PriorityLevelConfiguration } from '@kubernetes/client-node'
import type { WithMeta } from '../../shared/api/types.ts'
import { everyState } from '../../shared/client/informer.ts'
import { flowSchemas, priorityLevels } from '../../shared/client/resources.ts'
import { toTime } from '../../shared/clock/timestamp.ts'
import type { Controller, ControllerContext } from '../controller.ts'
import { createLoopQueue } from '../loop-queue.ts'

type FlowSchema = WithMeta<V1FlowSchema>

const typeMeta = { apiVersion: 'flowcontrol.apiserver.k8s.io/v1', kind: 'FlowSchema' }
const fieldManager = 'api-priority-and-fairness-config-consumer-v1'

/**
 * Says of each flow schema whether its priority level is there. Upstream:
 * apiserver/pkg/util/flowcontrol/apf_controller.go.
 */
export function startFlowSchemaController({ client, informers, clock, log }: ControllerContext): Controller {
  const all = (): void => {
    for (const schema of schemas.list()) queue.add(schema.metadata.name ?? '')
  }
  const schemas = informers.selected<FlowSchema>(flowSchemas, {
    handlers: [everyState(({ metadata }) => queue.add(metadata.name ?? ''))],
  })
  const levels = informers.selected<WithMeta<V1PriorityLevelConfiguration>>(priorityLevels, {
    handlers: [{ onAdd: all, onDelete: all }],
  })
  const queue = createLoopQueue({ clock, log, loop: 'flow-schemas', object: 'FlowSchema' }, async (name) => {
    await levels.synced()
    const schema = schemas.get({ name })
    if (!schema) return
    const level = schema.spec?.priorityLevelConfiguration.name ?? ''
    const condition = dangling(level, levels.get({ name: level }) !== undefined)
    const known = schema.status?.conditions?.find(({ type }) => type === condition.type)
    if (known?.status === condition.status && known.reason === condition.reason && known.message === condition.message)
      return
    const status = { conditions: [{ ...condition, lastTransitionTime: toTime(clock.now()) }] }
    const config = { ...typeMeta, metadata: { name }, status }
    await client.patch(flowSchemas, { name }, config, { type: 'apply', subresource: 'status', fieldManager })
  })
  return { close: () => queue.close() }
}

function dangling(level: string, exists: boolean) {
  const refers = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)}`
  return exists
    ? { type: 'Dangling', status: 'False', reason: 'Found', message: `${refers} and it exists` }
    : { type: 'Dangling', status: 'True', reason: 'NotFound', message: `${refers} but there is no such object` }
}
