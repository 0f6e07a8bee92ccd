import QRCode from 'qrcode'
import type { LiveLink } from '#access/shared-links.ts'
import { revokeShare, shareRecord } from '#commands/share-records.ts'
import { formatDateTime } from '#domain/person-values.ts'
import type { SharedRecord } from '#projections/record-links.ts'
import type { FormRoute, PageAccess, PageContext, Section } from '../panel-route.ts'
import { ButtonForm } from './form-fields.tsx'
import { buttonRoute, runAndRedirect } from './form-pages.tsx'
import { pluralize } from './head.tsx'
import { Card } from './page-parts.tsx'

/** The live link of a record; null on as-of pages. */
export const findLink = ({ context, readModel }: PageContext, shared: SharedRecord): Promise<LiveLink | null> =>
  readModel.moment ? Promise.resolve(null) : context.access.sharedLinks.find(readModel.companyId, shared)

interface ShareProps {
  readonly visit: PageContext
  readonly link: LiveLink | null
  /** Path of the page, below the panel; the forms are below it. */
  readonly to: string
  readonly title: string
  /** Who opens it. */
  readonly hint: string
  /** Before the link in a message. */
  readonly message: string
  readonly phone?: string | null | undefined
}

/** Link of a record: made, sent, shown when opened, and revoked. */
export const SharedLinkCard = ({ visit, link, to, title, hint, message, phone }: ShareProps) =>
  visit.readModel.moment || !visit.reaches('POST', `${to}/link`) ? null : (
    <div class="share">
      <Card title={title}>
        <p class="hint">{hint}</p>
        {link !== null && <LinkState visit={visit} link={link} message={message} phone={phone} />}
        <div class="actions">
          {link === null ? (
            <ButtonForm visit={visit} to={`${to}/link`} label="Criar link" isMain />
          ) : (
            <>
              <ButtonForm visit={visit} to={`${to}/link`} label="Trocar o link" />
              <ButtonForm visit={visit} to={`${to}/link/revogar`} label="Revogar" isDangerous />
            </>
          )}
        </div>
      </Card>
    </div>
  )

const LinkState = ({
  visit,
  link: { url, expires_at, times_opened, last_opened_at },
  message,
  phone,
}: Pick<ShareProps, 'visit' | 'message' | 'phone'> & { readonly link: LiveLink }) => {
  const { timezone } = visit.readModel
  return (
    <>
      {url === null ? (
        <p>Este link foi criado em outra instalação: para mostrar um, troque-o.</p>
      ) : (
        <>
          <p>
            <a href={url} rel="noreferrer">
              {url}
            </a>
          </p>
          <div class="actions">
            <a class="button main" href={toWhatsApp(`${message} ${url}`, phone)} rel="noreferrer">
              Enviar por WhatsApp
            </a>
            <button type="button" data-copy={url}>
              Copiar
            </button>
          </div>
        </>
      )}
      <p class="hint">
        Vale até {formatDateTime(expires_at, timezone)}.{' '}
        {last_opened_at === null
          ? 'Ainda não foi aberto.'
          : `Aberto ${pluralize(times_opened, 'vez', 'vezes')}; a última em ${formatDateTime(last_opened_at, timezone)}.`}
      </p>
    </>
  )
}

/** Opens the app with a message that the user still sends; without a phone the user chooses whom to. */
export function toWhatsApp(text: string, phone?: string | null): string {
  const digits = /^(?:55)?([1-9]\d{9,10})$/.exec(phone ?? '')?.[1]
  return `https://wa.me/${digits === undefined ? '' : `55${digits}`}?text=${encodeURIComponent(text)}`
}

/** QR code of a link, as SVG paths from the library: they contain none of the text. */
export const QrCode = async ({ of, label }: { readonly of: string; readonly label: string }) => (
  <div
    class="qr"
    role="img"
    aria-label={label}
    dangerouslySetInnerHTML={{
      __html: await QRCode.toString(of, { type: 'svg', errorCorrectionLevel: 'L', margin: 4 }),
    }}
  />
)

interface SharedForms<S> {
  /** Path of the page; the forms are below it. */
  readonly path: string
  readonly section: Section
  readonly access?: PageAccess
  subject(visit: PageContext): Promise<S | null> | S | null
  sharedOf(subject: S): SharedRecord
  /** The page, below the panel. */
  pageOf(subject: S): string
}

/** Forms that make and revoke the link of a page's record. */
export function sharedLinkForms<S>({ path, section, access, subject, sharedOf, pageOf }: SharedForms<S>): FormRoute[] {
  const place = { section, subject, ...(access && { access }) }
  return [
    buttonRoute<S>({
      ...place,
      path: `${path}/link`,
      act: (submission, of) =>
        runAndRedirect(
          submission,
          shareRecord,
          { ...sharedOf(of), ...submission.context.access.sharedLinks.create() },
          { to: pageOf(of), flash: 'link-criado' },
        ),
    }),
    buttonRoute<S>({
      ...place,
      path: `${path}/link/revogar`,
      act: (submission, of) =>
        runAndRedirect(submission, revokeShare, sharedOf(of), { to: pageOf(of), flash: 'link-revogado' }),
    }),
  ]
}
