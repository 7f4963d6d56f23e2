import { h, type JSX } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { UsageError } from '../../shared/config/option.ts'
import { podFilter } from '../../ui/story/filter.ts'
import type { PodStory } from '../../ui/story/model.ts'
import type { Story } from '../../ui/story/story.ts'
import { DeathPicture, deathHeight } from '../../ui/views/death.ts'
import { pictureLegend } from '../../ui/views/picture-legend.ts'
import { pictureStyle } from '../../ui/views/picture-style.ts'
import { deploymentsOf, RolloutPicture } from '../../ui/views/rollout.ts'
import { rowHeight, rowsOf } from '../../ui/views/timeline/geometry.ts'
import { Timeline, TimelineHead } from '../../ui/views/timeline/timeline.ts'
import { wholeOf } from '../../ui/views/whole.ts'
import type { View } from './views.ts'

export interface How {
  view: View
  select: string
  width: number
}

/** A part of the picture, below the one before. */
interface Part {
  height: number
  of: JSX.Element
}

/** Room for letters that a name of a lane shows. */
const mostLanes = 400
const titleHeight = 30

/** Draws a record as an SVG file. Throws a UsageError if the record has nothing of the view that is asked for. */
export function picture(story: Story, how: How): string {
  const { title, parts: drawnParts } = drawn[how.view](story, how)
  const markup = drawnParts.map(({ of }) => renderToString(of)).join('')
  // The picture of one death has its words beside its parts.
  const parts = how.view === 'death' ? drawnParts : [...drawnParts, pictureLegend(markup, how.width)]
  const height = parts.reduce((sum, part) => sum + part.height, titleHeight + 8)
  const { width } = how
  let top = titleHeight
  const placed = parts.map(({ height, of }) => {
    const part = h('svg', { x: 0, y: top, width, height }, of)
    top += height
    return part
  })
  const size = { width, height, viewBox: `0 0 ${width} ${height}` }
  const root = { xmlns: 'http://www.w3.org/2000/svg', class: 'ks', role: 'img', 'aria-label': title, ...size }
  const heading = h('text', { class: 'strong', x: 6, y: 20 }, title)
  const paper = h('rect', { width, height, fill: 'var(--paper)' })
  return `${renderToString(h('svg', root, [h('style', null, pictureStyle), paper, heading, ...placed]))}\n`
}

const drawn: Record<View, (story: Story, how: How) => { title: string; parts: Part[] }> = {
  timeline(story, { select, width }) {
    const rows = rowsOf(story, 'workload', podFilter(select))
    if (rows.length === 0) throw nothing('pod', select, [...story.pods.values()].map(nameOf))
    if (rows.length > mostLanes)
      throw new UsageError(
        `the picture would have ${rows.length} lanes, of ${mostLanes} at most: choose pods with --select`,
      )
    const shared = { story, window: wholeOf(story), width }
    const head = story.loads.length > 0 ? 62 : 22
    return {
      title: story.title || 'Timeline',
      parts: [
        { height: head, of: h(TimelineHead, shared) },
        { height: rows.length * rowHeight, of: h(Timeline, { ...shared, rows, nowMs: story.endMs }) },
      ],
    }
  },
  death(story, { select, width }) {
    const ended = [...story.pods.values()].filter(({ deaths }) => deaths.length > 0)
    const pod = ended.filter(podFilter(select)).at(-1)
    const death = pod?.deaths.at(-1)
    if (!pod || !death) throw nothing('end of a pod', select, ended.map(nameOf))
    return {
      title: `${pod.name}: ${death.verdict}`,
      parts: [{ height: deathHeight(death), of: h(DeathPicture, { pod, death, width }) }],
    }
  },
  rollout(story, { select, width }) {
    const all = deploymentsOf(story)
    const fits = all.filter(({ name }) => name.includes(select))
    const workload = fits.findLast(({ counts }) => counts.length > 1) ?? fits[0]
    if (!workload) throw nothing('workload', select, all.map(nameOf))
    return {
      title: `Rollout of ${workload.kind}/${workload.name}`,
      parts: [{ height: 236, of: h(RolloutPicture, { story, workload, window: wholeOf(story), width }) }],
    }
  },
}

const nameOf = ({ name }: Pick<PodStory, 'name'>): string => name

function nothing(what: string, select: string, there: readonly string[]): UsageError {
  const some = there.slice(0, 5).join(', ')
  const known = there.length > 0 ? `; it has ${some}${there.length > 5 ? ` and ${there.length - 5} more` : ''}` : ''
  return new UsageError(`the record has no ${what}${select ? ` that --select ${select} fits` : ''}${known}`)
}
