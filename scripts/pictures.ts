/**
 * The pictures in docs/pictures: of the records in docs/records, as `kubestage export` draws them, and of the bench's
 * tables in docs. `--write` puts them there; without, exit 1 when they are stale.
 */
import { createReadStream, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { drawnCharts } from '../bench/charts/charts.ts'
import { type How, picture } from '../cli/export/picture.ts'
import { readRecord } from '../shared/record/reader.ts'
import { Story } from '../ui/story/story.ts'

const docs = join(import.meta.dirname, '..', 'docs')
const pictures: Record<string, { record: string } & Partial<How>> = {
  death: { record: 'three-ends', view: 'death' },
  timeline: { record: 'rollout', view: 'timeline' },
  rollout: { record: 'rollout', view: 'rollout' },
  shop: { record: 'shop', view: 'timeline' },
}

async function storyOf(name: string): Promise<Story> {
  const story = new Story()
  const file = join(docs, 'records', `${name}.ndjson`)
  for await (const line of readRecord(createReadStream(file), { name: file })) story.add(line)
  return story
}

const all = drawnCharts(docs)
for (const [name, { record, ...how }] of Object.entries(pictures))
  all.set(name, picture(await storyOf(record), { view: 'timeline', select: '', width: 900, ...how }))

for (const [name, drawn] of all) {
  const file = join(docs, 'pictures', `${name}.svg`)
  if (process.argv.includes('--write')) writeFileSync(file, drawn)
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== drawn) {
    console.error(`docs/pictures/${name}.svg is stale: run \`node scripts/pictures.ts --write\` and commit the result`)
    process.exitCode = 1
  }
}
