import { MAX_PICTURE_BYTES } from '#domain/images.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { toHttpStatus } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, Redirect } from '../panel-route.ts'
import { ButtonForm } from './form-fields.tsx'
import { Alert } from './page-parts.tsx'

interface PictureFormProps {
  readonly visit: PageContext
  /** Path that takes the file; `/excluir` below it deletes the picture. */
  readonly to: string
  /** As on its buttons: `imagem`, `logotipo`. */
  readonly noun: string
  readonly hint: string
  readonly hasPicture: boolean
}

/** Upload form of a picture, which a script converts to WebP, with the button that deletes it. */
export const PictureForm = ({ visit, to, noun, hint, hasPicture }: PictureFormProps) => (
  <>
    <form method="post" action={link(to)} enctype="multipart/form-data" class="form" data-picture={MAX_PICTURE_BYTES}>
      <input type="hidden" name="_csrf" value={visit.session.csrfToken} />
      <input type="hidden" name="_key" value={visit.context.environment.newId()} />
      <div class="field w12">
        <label for="campo-imagem">Arquivo de imagem</label>
        <input
          id="campo-imagem"
          name="file"
          type="file"
          accept="image/webp,image/jpeg,image/png,image/heic,image/heif,.webp,.jpg,.jpeg,.png,.heic,.heif"
          required
          aria-describedby="dica-imagem"
        />
        <p class="hint" id="dica-imagem">
          {`JPG, PNG, WebP ou HEIC: o navegador converte para WebP de até ${MAX_PICTURE_BYTES / 1024} KB. ${hint}`}
        </p>
        <p class="error" role="alert" hidden />
        <noscript>
          <p class="hint">Sem scripts, o navegador não converte: envie um arquivo WebP.</p>
        </noscript>
      </div>
      <div class="actions">
        <button type="submit">{`${hasPicture ? 'Trocar' : 'Enviar'} ${noun}`}</button>
      </div>
    </form>
    {hasPicture && <ButtonForm visit={visit} to={`${to}/excluir`} label={`Excluir ${noun}`} isDangerous />}
  </>
)

/** Why a picture was refused; `what` is its name with the article. */
export const PictureProblem = ({ what, refusal }: { readonly what: string; readonly refusal: Refusal }) => {
  const messages = (refusal.details?.fields as { content?: string[] } | undefined)?.content ?? []
  return <Alert>{messages.length > 0 ? `${what} ${messages.join('; ')}.` : 'O arquivo não foi gravado.'}</Alert>
}

interface PictureUpload {
  /** Records the picture. */
  set(content: Buffer): Promise<Redirect | Refusal>
  /** Page that says why it was refused. */
  refused(refusal: Refusal): PanelPage
}

/** Submission of a `PictureForm`. */
export async function uploadPicture(
  { file }: FormSubmission,
  { set, refused }: PictureUpload,
): Promise<Redirect | PanelPage> {
  const answer =
    file && file.length > 0 ? await set(Buffer.from(file)) : refuseField('content', 'precisa de um arquivo')
  return isRefusal(answer) ? { ...refused(answer), status: toHttpStatus(answer.refused) } : answer
}
