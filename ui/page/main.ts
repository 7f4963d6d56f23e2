/// <reference lib="dom" />
/// <reference lib="dom.asynciterable" />
import { readRecord } from '../../shared/record/reader.ts'

const shown = 500

/** Lists the lines of the record, or says in the server's words why there are none. */
async function main(page: HTMLElement): Promise<void> {
  const answer = await fetch('stream')
  if (!answer.ok || !answer.body) {
    const { message } = (await answer.json()) as { message: string }
    page.textContent = message
    return
  }
  const list = page.appendChild(document.createElement('ol'))
  for await (const line of readRecord(answer.body as unknown as AsyncIterable<Uint8Array>)) {
    const item = list.appendChild(document.createElement('li'))
    const named = 'object' in line ? `${line.object.kind} ${line.object.metadata.name}` : ''
    item.textContent = `${line.at} ${line.type} ${named}`
    if (list.childElementCount > shown) list.firstElementChild?.remove()
  }
}

const page = document.getElementById('page')
if (page) void main(page)
