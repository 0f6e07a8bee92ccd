import type { Response } from 'express'
import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { CHECKOUT } from '#domain/payment-link.ts'
import { brandStyleUrl } from '#http/brand-style.ts'
import { type FailureReason, httpStatusOf, type Problem, type ProblemCode } from '#http/problems.ts'
import type { Shop } from '#queries/orders.ts'
import { ASSETS, assets } from './assets.ts'
import { ShopName } from './page.tsx'

/** A checkout page. */
interface Page {
  readonly title: string
  readonly body: ComponentChildren
  /** URL of the page's event stream; null if nothing can change. */
  readonly events: string | null
  /** Null until the order is known. */
  readonly shop: Shop | null
  readonly status?: number
}

/** Reload interval of pending pages without JavaScript, in seconds. */
const RELOAD_SECONDS = '15'

const Document = ({ title, body, events, shop }: Page) => (
  <html lang="pt-BR">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="robots" content="noindex, nofollow" />
      <title>{title}</title>
      <link rel="icon" href={assets.address('icon.svg')} type="image/svg+xml" />
      <link rel="preload" href={assets.address('inter.woff2')} as="font" type="font/woff2" crossorigin="anonymous" />
      <link rel="stylesheet" href={assets.address('font.css')} />
      <link rel="stylesheet" href={assets.address('base.css')} />
      <link rel="stylesheet" href={assets.address('checkout.css')} />
      {shop?.brand_color && <link rel="stylesheet" href={brandStyleUrl(ASSETS, shop.brand_color)} />}
      <script src={assets.address('checkout.js')} defer />
      {events !== null && (
        <noscript>
          <meta http-equiv="refresh" content={RELOAD_SECONDS} />
        </noscript>
      )}
    </head>
    <body>
      <p class="hidden" role="status" id="aviso" />
      <main id="conteudo" data-events={events ?? undefined}>
        {body}
      </main>
    </body>
  </html>
)

/** Replaces U+0000, which HTML cannot contain and a description may, by U+FFFD. */
export function sendCheckoutPage(response: Response, page: Page): void {
  response
    .status(page.status ?? 200)
    .type('html')
    .send(`<!doctype html>${renderToString(<Document {...page} />)}`.replaceAll('\0', '\uFFFD'))
}

const WORDS: Partial<Record<ProblemCode | FailureReason, readonly [title: string, text: string]>> = {
  not_found: ['Página não encontrada', 'Confira o link ou peça outro à loja.'],
  rate_limited: ['Muitas tentativas', 'Aguarde um minuto e abra a página de novo.'],
  cross_site_form: ['Não foi possível continuar', 'Abra a página de novo e repita.'],
  unavailable: [
    'Tente de novo em instantes',
    'Nada foi cobrado. Abra a página de novo: se um código foi gerado, ele aparece lá.',
  ],
  provider_configuration_invalid: [
    'Pagamento indisponível',
    'A loja não pode receber pagamentos agora. Nada foi cobrado: fale com a loja.',
  ],
  https_required: ['Use HTTPS', 'Abra o link com https://.'],
}

const OTHERS = ['Não foi possível continuar', 'Nada foi cobrado. Abra a página de novo e repita.'] as const

/** Path of a form, and the path of its page in the group. */
const FORM = new RegExp(`^(${CHECKOUT}/[^/?]+/[^/?]+)/pix$`)

/** A problem as a page: with the shop's name once the order was found, and without any detail of the order. */
export function answerCheckoutFailure(response: Response, problem: Problem): void {
  for (const [name, value] of Object.entries(problem.headers)) response.setHeader(name, value)
  const [title, text] = (problem.reason && WORDS[problem.reason]) ?? WORDS[problem.code] ?? OTHERS
  const page = FORM.exec(response.req.originalUrl)?.[1]
  const shop = (response.locals.shop as Shop | undefined) ?? null
  const body = (
    <>
      {shop && <ShopName shop={shop} />}
      <h1>{title}</h1>
      <p>{text}</p>
      {page !== undefined && problem.code !== 'not_found' && (
        <p>
          <a href={page}>Abrir a página do pedido</a>
        </p>
      )}
      <p class="hint">Código da requisição: {response.locals.requestId as string}</p>
    </>
  )
  sendCheckoutPage(response, { title, body, shop, events: null, status: httpStatusOf(problem.code) })
}
