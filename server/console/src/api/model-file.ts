/** ONNX models whose exporter wrote large weights to data files. */

import { upload } from './client';
import type { ModelParts, ModelPiece } from './types';

/**
 * Joins the chosen files into one ONNX file. The coordinator sees only the ONNX file, and says which bytes of the data files
 * belong where; the browser reads these when it uploads the result.
 */
export async function joined(files: File[]): Promise<Blob> {
  const [alone] = files;
  if (alone && files.length === 1) return alone;
  const models = files.filter((file) => file.name.toLowerCase().endsWith('.onnx'));
  const [model] = models;
  if (!model || models.length > 1)
    throw new Error(
      `${models.length} of the ${files.length} chosen files are ONNX files. Choose one file that ends with .onnx, and its data files if it has any.`,
    );
  const { pieces } = await upload<ModelParts>('/models/parts', model);
  return new Blob(pieces.map((piece) => content(piece, model, files)));
}

function content(piece: ModelPiece, model: File, files: File[]): BlobPart {
  switch (piece.from) {
    case 'model':
      return model.slice(piece.start, piece.end);
    case 'new':
      return new Uint8Array(piece.bytes);
    case 'data_file': {
      const data = files.find((file) => file.name === piece.file);
      if (!data) throw new Error(`${model.name} stores weights in ${piece.file}. Choose that file, too; it must keep its name.`);
      if (data.size < piece.end)
        throw new Error(
          `${data.name} has ${data.size} bytes, but ${model.name} needs ${piece.end} or more. The file is incomplete, or belongs to another model.`,
        );
      return data.slice(piece.start, piece.end);
    }
  }
}
