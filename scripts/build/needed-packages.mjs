// Leaves in package.json and its lock file only those development packages that `npm run build` needs: the Dockerfile installs
// no others. JavaScript, as it runs before anything is installed.
import { readFileSync, writeFileSync } from 'node:fs'

const needed = /^(esbuild|typescript|preact-render-to-string|@types\/.*|@kubernetes\/client-node)$/

for (const file of ['package.json', 'package-lock.json']) {
  const content = JSON.parse(readFileSync(file, 'utf8'))
  const { devDependencies } = content.packages?.[''] ?? content
  for (const name of Object.keys(devDependencies)) if (!needed.test(name)) delete devDependencies[name]
  writeFileSync(file, JSON.stringify(content, null, 2))
}
