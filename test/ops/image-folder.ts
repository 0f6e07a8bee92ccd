import { execFile } from 'node:child_process'
import { chmod, copyFile, cp, mkdir, readFile, rename, symlink } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { projectRoot } from '#lib/files.ts'

const run = promisify(execFile)
const ROOT = projectRoot()

/** What a container is made of, as a folder. */
export interface ImageFolder {
  /** The application, read-only. */
  readonly app: string
  /** The image's Node, whose folder is the PATH of the image. */
  readonly node: string
  readonly env: Readonly<Record<string, string>>
  readonly command: readonly string[]
  readonly healthCheck: readonly string[]
}

interface Stage {
  readonly name: string
  readonly image: string
  /** Stands for `/` of the stage. */
  readonly root: string
  readonly env: Record<string, string>
  workdir: string
  command: readonly string[]
  healthCheck: readonly string[]
}

/**
 * Follows the Dockerfile and .dockerignore below `folder`, without an engine for images. Two things differ: a stage that
 * installs everything gets the packages of this checkout, and folders outside of the application are the caller's.
 * @throws Error for an instruction that is not known here.
 */
export async function buildImageFolder(folder: string): Promise<ImageFolder> {
  const text = await readFile(join(ROOT, 'Dockerfile'), 'utf8')
  const node = await copyNode(/^FROM node:(\d+)/m.exec(text)?.[1] ?? '', folder)
  const stages: Stage[] = []
  for (const [, word = '', rest = ''] of instructions(text)) await follow(word, rest, { folder, stages, node })
  const { root, workdir, env, command, healthCheck } = last(stages)
  const app = inStage({ root, workdir }, '.')
  await run('chmod', ['-R', 'a+rX,a-w', app])
  return { app, node, env, command, healthCheck }
}

/** Lines that end with a backslash go on. */
const instructions = (text: string) =>
  text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .matchAll(/^([A-Z]+) +(.+)$/gm)

interface Building {
  readonly folder: string
  readonly stages: Stage[]
  readonly node: string
}

async function follow(word: string, rest: string, { folder, stages, node }: Building): Promise<void> {
  if (word === 'FROM') {
    const [image = '', , name = 'image'] = rest.split(' ')
    const root = join(folder, name)
    stages.push({ name, image, root, env: {}, workdir: '/', command: [], healthCheck: [] })
    return
  }
  const stage = last(stages)
  if (word === 'WORKDIR') stage.workdir = rest
  else if (word === 'ENV')
    for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g)) stage.env[name] = value
  else if (word === 'COPY') await copy(rest, stage, stages)
  else if (word === 'RUN') await runIn(stage, rest, node)
  else if (word === 'CMD') stage.command = JSON.parse(rest)
  else if (word === 'HEALTHCHECK') stage.healthCheck = JSON.parse(rest.slice(rest.indexOf('CMD') + 'CMD'.length))
  else if (!['USER', 'EXPOSE', 'VOLUME'].includes(word))
    throw new Error(`the Dockerfile has an unknown ${word} ${rest}`)
}

async function copy(rest: string, stage: Stage, stages: readonly Stage[]): Promise<void> {
  const [, from, paths = ''] = /^(?:--from=(\S+) )?(.+)$/.exec(rest) ?? []
  const all = paths.trim().split(/ +/)
  const to = all.pop() ?? ''
  const source = stages.find(({ name }) => name === from)
  if (from !== undefined && !source) throw new Error(`the Dockerfile has no stage ${from}`)
  const isAllowed = source ? () => true : await contextFilter()
  for (const path of all) {
    const origin = source ? join(source.root, path) : join(ROOT, path)
    const target = inStage(stage, to.endsWith('/') ? join(to, basename(path)) : to)
    await mkdir(dirname(target), { recursive: true })
    // A stage is not needed after what it is for was taken from it.
    if (source) await rename(origin, target)
    else await cp(origin, target, { recursive: true, errorOnExist: true, filter: isAllowed })
  }
}

/** What .dockerignore lets into the context: it excludes everything, then names what is included. */
async function contextFilter(): Promise<(path: string) => boolean> {
  const [first, ...lines] = (await readFile(join(ROOT, '.dockerignore'), 'utf8')).trim().split('\n')
  if (first !== '*' || lines.some((line) => !line.startsWith('!')))
    throw new Error('.dockerignore should exclude everything (*), then include paths (!path)')
  const included = lines.map((line) => join(ROOT, line.slice(1)))
  return (path) => {
    // Folders above an included path are entered.
    const isIncluded = included.some(
      (each) => !relative(each, path).startsWith('..') || each.startsWith(join(path, '/')),
    )
    if (!isIncluded) throw new Error(`.dockerignore excludes ${relative(ROOT, path)}, which the Dockerfile copies`)
    return true
  }
}

async function runIn(stage: Stage, command: string, node: string): Promise<void> {
  const cwd = inStage(stage, '.')
  await mkdir(cwd, { recursive: true })
  if (command === 'npm ci') return symlink(join(ROOT, 'node_modules'), join(cwd, 'node_modules'))
  // /data is the caller's.
  if (command.startsWith('install --directory ') && command.endsWith(' /data')) return
  if (!command.startsWith('npm ')) throw new Error(`the Dockerfile has an unknown RUN ${command}`)
  const { npm_config_registry: _, ...inherited } = process.env
  const env = { ...inherited, ...stage.env, PATH: `${dirname(node)}:${process.env.PATH}` }
  const quick = { npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' }
  await run('sh', ['-c', command], { cwd, env: { ...env, ...quick }, maxBuffer: 10_000_000 })
}

const inStage = ({ root, workdir }: Pick<Stage, 'root' | 'workdir'>, path: string): string =>
  join(root, resolve(workdir, path))

const last = (stages: readonly Stage[]): Stage => {
  const stage = stages.at(-1)
  if (!stage) throw new Error('the Dockerfile has no FROM')
  return stage
}

/**
 * Node of this version, by npx, unless PRODUCTION_NODE names another. A copy, because an ordinary user may not enter the
 * folder that it is installed in.
 */
async function copyNode(version: string, folder: string): Promise<string> {
  const of = promisify(execFile)
  const own = process.version.startsWith(`v${version}.`) ? process.execPath : undefined
  const installed =
    process.env.PRODUCTION_NODE ??
    own ??
    (await of('npx', ['--yes', '-p', `node@${version}`, 'node', '-p', 'process.execPath'])).stdout.trim()
  const node = join(folder, 'bin', 'node')
  await mkdir(dirname(node))
  await copyFile(installed, node)
  await chmod(node, 0o755)
  return node
}
