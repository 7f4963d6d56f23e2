import { once } from 'node:events'
import { createReadStream, statSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { isLoopback } from '../../apiserver/ui/guard.ts'
import { UiSite } from '../../apiserver/ui/site.ts'
import { realClock } from '../../shared/clock/real-clock.ts'
import { UsageError } from '../../shared/config/option.ts'
import { inOneSentence } from '../../shared/config/system-errors.ts'
import { notAFile } from '../../shared/files/regular-file.ts'
import { createServer } from '../../shared/http/node-http.ts'
import { readRecord } from '../../shared/record/reader.ts'
import { untilStopped } from '../process/signals.ts'

/** Serves the page with a record, at a free port of the loopback address, until Ctrl-C. */
export async function serveFile(file: string): Promise<number> {
  await checkRecord(file)
  const site = new UiSite({
    clock: realClock.machine,
    isSecure: false,
    isOwnName: isLoopback,
    stream: (response) => pipeline(createReadStream(file), response, () => {}),
    source: 'file',
  })
  const server = createServer(({ method, url = '/', headers }, response) => {
    void site.serve({ method, url, headers }, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  process.stdout.write(`http://127.0.0.1:${port}${site.link()}\n`)
  process.stderr.write(`The link works once, within two minutes; Ctrl-C ends the page of ${file}.\n`)
  await untilStopped()
  server.closeAllConnections()
  server.close()
  return 0
}

/** Throws a UsageError for what cannot be read as a record. */
async function checkRecord(file: string): Promise<void> {
  try {
    // The page reads it again whenever it is opened.
    const kind = statSync(file)
    if (!kind.isFile() && !kind.isDirectory()) throw notAFile(file)
    for await (const line of readRecord(createReadStream(file), { name: file })) if (line.type === 'HEADER') return
  } catch (error) {
    throw new UsageError((inOneSentence(error as Error, { place: `cannot read ${file}` }) ?? (error as Error)).message)
  }
}
