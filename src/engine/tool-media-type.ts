import { isViewablePdf } from '../core/viewable-pdf.ts';
import { viewableImage } from '../core/viewable-image.ts';

/**
 * What a file that a tool gave is to a model: an image is what its bytes are, whatever it is called; an image or a PDF that a
 * provider would refuse is just bytes, of which the model is told (B123). So are texts: provider clients drop them there.
 */
export function toolMediaType(given: string, bytes: Uint8Array): string {
  const type = given.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type.startsWith('image/')) return viewableImage(bytes) ?? unshown;
  if (type === 'application/pdf') return isViewablePdf(bytes) ? type : unshown;
  return type.startsWith('text/') ? unshown : given;
}

const unshown = 'application/octet-stream';
