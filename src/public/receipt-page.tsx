import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import express, { type RequestHandler, type Router } from 'express'
import { renderToString } from 'preact-render-to-string'
import { uploadedLogo } from '#domain/images.ts'
import { BASE_STYLE, brandStyle, projectFile } from '#http/assets.ts'
import { limitUnauthenticatedBy, mountRoutes, rateLimitProblem, requireHttps } from '#http/edge.ts'
import { isEntry, parseStatement, type RingEntry } from '#integrity/checkpoint-keys.ts'
import { loadInstallation } from '#integrity/installation.ts'
import { hashPublicKey, toRawKey } from '#integrity/note.ts'
import { RECEIPT_PAGE } from '#integrity/sale-receipts.ts'
import { findLogo } from '#queries/company-queries.ts'
import { fullReader } from '#queries/reader.ts'
import type { Services } from '#services.ts'

/** A key that the page trusts. */
export interface TrustedKey {
  /** 32 bytes, base64. */
  readonly key: string
  /** Fingerprint of 16 hex digits. */
  readonly id: string
  /** Start of its use (UTC). */
  readonly since: string
  /** End of its use (UTC); null for the current key. */
  readonly until: string | null
  /** Whether each key since the first was signed by its predecessor. */
  readonly isSigned: boolean
}

/** The shop whose receipts the page was opened for. */
interface TrustedShop {
  readonly company: number
  readonly name: string
  /** `#rrggbb`. */
  readonly color: string | null
  /** A `data:` URL: the page requests nothing. */
  readonly logo: string | null
}

/** Keys by which the page verifies receipts. */
export interface TrustedKeys {
  readonly shop?: TrustedShop
  /** Id of the installation. */
  readonly installation: string
  readonly keys: readonly TrustedKey[]
}

const fileOf = (name: string): string => readFileSync(projectFile(`src/public/receipt/static/${name}`), 'utf8')

/** One module, because a saved page cannot import. */
const SCRIPT = `${fileOf('verify.js')}${fileOf('page.js').replace(/^import .*$/m, '')}`
const STYLE = `${readFileSync(BASE_STYLE.file, 'utf8')}${fileOf('page.css')}`

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

const brandOf = ({ shop }: TrustedKeys): string | null => (shop?.color ? brandStyle(shop.color) : null)

/** Content-Security-Policy, also embedded in the page, so that it applies to a saved file. */
const policyOf = (brand: string | null): readonly string[] => [
  "default-src 'none'",
  `script-src ${hashOf(SCRIPT)}`,
  `style-src ${hashOf(STYLE)}${brand === null ? '' : ` ${hashOf(brand)}`}`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
]

export const toPagePolicy = (trusted: TrustedKeys): string =>
  [...policyOf(brandOf(trusted)), "frame-ancestors 'none'"].join('; ')

/** The page as one document that works from a file and makes no requests. */
export const renderReceiptDocument = (trusted: TrustedKeys): string =>
  `<!doctype html>${renderToString(<ReceiptPage trusted={trusted} />)}`

const ReceiptPage = ({ trusted }: { readonly trusted: TrustedKeys }) => {
  const brand = brandOf(trusted)
  const { shop } = trusted
  return (
    <html lang="pt-BR">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content={policyOf(brand).join('; ')} />
        <meta name="referrer" content="no-referrer" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{shop ? `Conferir recibo · ${shop.name}` : 'Conferir recibo'}</title>
        <link rel="icon" href="data:," />
        <style dangerouslySetInnerHTML={{ __html: STYLE }} />
        {brand !== null && <style dangerouslySetInnerHTML={{ __html: brand }} />}
      </head>
      <body>
        <main>
          {shop && (
            <p class="shop">
              {shop.logo !== null && <img src={shop.logo} alt="" />}
              {shop.name}
            </p>
          )}
          <h1>Conferir recibo</h1>
          <p>
            Esta página confere se a venda está no registro de auditoria da loja como diz o recibo. Tudo acontece neste
            aparelho e o recibo não é enviado.
          </p>
          <section id="resultado" class="card" tabIndex={-1} aria-live="polite" hidden />
          <section class="card" aria-labelledby="abrir">
            <h2 id="abrir">Abrir um recibo</h2>
            <p>Escaneie o código impresso, escolha o arquivo ou cole o conteúdo do arquivo ou do código.</p>
            <label for="arquivo">Arquivo do recibo</label>
            <input id="arquivo" type="file" accept=".json,application/json" />
            <form id="colado">
              <label for="texto">Conteúdo</label>
              <textarea id="texto" rows={4} spellcheck={false} autocomplete="off" />
              <button type="submit">Conferir</button>
            </form>
          </section>
          <Keys trusted={trusted} />
          <script id="chaves" type="application/json" dangerouslySetInnerHTML={{ __html: jsonOf(trusted) }} />
          <script type="module" dangerouslySetInnerHTML={{ __html: SCRIPT }} />
          <noscript>Esta página precisa de scripts para conferir recibos.</noscript>
        </main>
      </body>
    </html>
  )
}

const Keys = ({ trusted: { installation, keys } }: { readonly trusted: TrustedKeys }) => (
  <section class="card" aria-labelledby="confianca">
    <h2 id="confianca">Como verificamos</h2>
    <p>
      Pela assinatura do registro de auditoria. Compare a chave com a que a loja, um auditor ou uma cópia antiga desta
      página diz.
    </p>
    <details>
      <summary>Detalhes técnicos</summary>
      <p>
        Instalação {installation}.{' '}
        {keys.length === 0 ? 'Ainda não assinou nada.' : `Assinou com: ${keys.map(({ id }) => id).join(', ')}.`}
      </p>
    </details>
    <p id="salvar">
      <a href="/conferir" download="conferir.html">
        Salvar esta página
      </a>{' '}
      para conferir recibos sem internet, com as chaves de hoje.
    </p>
  </section>
)

/** Escapes `<`, so that the JSON cannot end its script element. */
const jsonOf = (value: object): string => JSON.stringify(value).replaceAll('<', '\\u003c')

/** Serves `/conferir`, the public page that verifies receipts (PROOF-48, PROOF-49). */
export function serveVerificationPage(services: Pick<Services, 'access' | 'reads' | 'proofs' | 'limits'>): Router {
  const { reads, proofs, limits } = services
  const router = express.Router({ caseSensitive: true, strict: true })
  const handle: RequestHandler = async (request, response) => {
    const counted = await limits.checkouts.consume(request.ip ?? '')
    if (counted.limited) throw rateLimitProblem(counted)
    const [{ family }, entries, shop] = await Promise.all([
      loadInstallation(reads.pool),
      proofs.proof.keys(),
      loadShop(services, request.query.loja),
    ])
    const trusted = { ...toTrustedKeys(family, entries), ...(shop && { shop }) }
    response.setHeader('Content-Security-Policy', toPagePolicy(trusted))
    response.setHeader('Referrer-Policy', 'no-referrer')
    // Keys rotate: the page must embed the present ring.
    response.setHeader('Cache-Control', 'no-cache')
    response.type('html').send(renderReceiptDocument(trusted))
  }
  return mountRoutes(router, RECEIPT_PAGE, [{ method: 'get', path: '/', handlers: [handle] }], {
    first: [requireHttps(limitUnauthenticatedBy(limits.checkouts))],
  })
}

/** The shop of a code in the address, or the installation's only one. */
async function loadShop(
  { access, reads }: Pick<Services, 'access' | 'reads'>,
  code: unknown,
): Promise<TrustedShop | null> {
  const { shownShops } = access
  const shop = await shownShops.find(typeof code === 'string' ? shownShops.read(code) : null)
  if (!shop) return null
  const { companyId: company, name, color, logoUrl } = shop
  const digest = /([0-9a-f]{64})\.webp$/.exec(uploadedLogo(logoUrl) ?? '')?.[1]
  const bytes = digest === undefined ? null : await findLogo(fullReader(reads.poolOf(company), company), digest)
  return { company, name, color, logo: bytes && `data:image/webp;base64,${bytes.toString('base64')}` }
}

/**
 * Trusted keys of the ring. A key that was not signed by its predecessor is marked, for example one inserted by the
 * database's owner.
 */
export function toTrustedKeys(installation: string, entries: readonly RingEntry[]): TrustedKeys {
  const broken = entries.findIndex((_, at) => !isEntry(installation, entries, at))
  const sound = broken < 0 ? entries : entries.slice(0, broken)
  const unsigned = sound.findIndex(({ note }) => parseStatement(note)?.succession === 'unsigned')
  const keys = sound.map(({ public_key, since }, at) => ({
    key: toRawKey(public_key).toString('base64'),
    id: hashPublicKey(public_key),
    since,
    until: sound[at + 1]?.since ?? null,
    isSigned: unsigned < 0 || at < unsigned,
  }))
  return { installation, keys }
}
