import { type OptionType, option, type Values } from '../../shared/config/option.ts'
import { duration, mustBe } from '../../shared/config/option-types.ts'
import { type ShutdownGroup, twoGroups } from './shutdown.ts'

/** Describes an entry of upstream's KubeletConfiguration `shutdownGracePeriodByPodPriority`. */
export interface PriorityGrace {
  priority: number
  shutdownGracePeriodSeconds: number
}

const expected =
  'priorities and seconds, as 0=20,1000=10 or in a file [{priority: 0, shutdownGracePeriodSeconds: 20}, …]'

function checked(value: unknown): PriorityGrace {
  const { priority, shutdownGracePeriodSeconds, ...more } = (value ?? {}) as Record<string, unknown>
  const isRight = Number.isInteger(priority) && Number.isInteger(shutdownGracePeriodSeconds)
  if (!isRight || Object.keys(more).length > 0 || Number(shutdownGracePeriodSeconds) < 0) throw mustBe(expected, value)
  return value as PriorityGrace
}

const byPriority: OptionType<PriorityGrace[]> = {
  placeholder: 'PRIORITY=SECONDS,…',
  schema: {
    type: 'array',
    items: {
      type: 'object',
      properties: { priority: { type: 'integer' }, shutdownGracePeriodSeconds: { type: 'integer', minimum: 0 } },
      required: ['priority', 'shutdownGracePeriodSeconds'],
      additionalProperties: false,
    },
  },
  fromText(text, soFar = []) {
    const groups = text.split(',').map((group) => {
      const [, priority, seconds] = /^\s*(-?\d+)=(\d+)\s*$/.exec(group) ?? []
      if (seconds === undefined) throw mustBe(expected, group)
      return { priority: Number(priority), shutdownGracePeriodSeconds: Number(seconds) }
    })
    return [...soFar, ...groups]
  },
  fromFile(value) {
    if (!Array.isArray(value)) throw mustBe(expected, value)
    return value.map(checked)
  },
}

/** Defines how long pods may take to end when their node shuts down. The names are upstream's. */
export const shutdownOptions = {
  shutdownGracePeriod: option(duration, {
    default: 10_000,
    help: 'How long pods may take to end when we, or the node, stop',
  }),
  shutdownGracePeriodCriticalPods: option(duration, { default: 0, help: 'How much of it is kept for critical pods' }),
  shutdownGracePeriodByPodPriority: option(byPriority, {
    default: [],
    help: 'Instead of these two: how long pods of at least each priority have, the least important first; repeatable',
  }),
}

export function shutdownGroups(values: Values<typeof shutdownOptions>): ShutdownGroup[] {
  const { shutdownGracePeriod, shutdownGracePeriodCriticalPods, shutdownGracePeriodByPodPriority } = values
  if (shutdownGracePeriodByPodPriority.length === 0) {
    return twoGroups(seconds(shutdownGracePeriod), seconds(shutdownGracePeriodCriticalPods))
  }
  return shutdownGracePeriodByPodPriority.map(({ priority, shutdownGracePeriodSeconds }) => ({
    priority,
    graceSeconds: shutdownGracePeriodSeconds,
  }))
}

/** Returns the sum of the grace periods of all groups in milliseconds: the groups end one after another. */
export const shutdownMs = (values: Values<typeof shutdownOptions>): number =>
  shutdownGroups(values).reduce((sum, { graceSeconds }) => sum + graceSeconds * 1000, 0)

const seconds = (ms: number): number => Math.floor(ms / 1000)
