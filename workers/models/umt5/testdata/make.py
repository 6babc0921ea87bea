"""Makes the files beside it: two small unigram models, trained on the lines below, and what the Python packages make of
a corpus with them. Needs sentencepiece 0.2.x and tokenizers 0.2x: python3 make.py. The tests read the files alone."""
import base64, io, json, os, sys
import sentencepiece as spm
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
HERE = os.path.dirname(os.path.abspath(__file__))
LINES = """A quiet lake at dawn, mist over the water, mountains in the distance.
The camera moves slowly forward through a forest of tall pines.
Golden dunes under a burning sun; footprints lead towards the horizon.
Snow falls on a village; warm light in every window.
An old lighthouse stands on a cliff above the stormy sea.
Neon signs are mirrored in wet streets, 8k, cinematic, 35mm film.
Ein ruhiger See am Morgen, Nebel über dem Wasser, Berge in der Ferne.
Die Kamera fährt langsam durch einen Wald aus hohen Kiefern.
Un lac calme à l'aube, la brume sur l'eau, des montagnes au loin.
La cámara avanza despacio por un bosque de pinos altos.
Тихое озеро на рассвете, туман над водой, горы вдали.
清晨平静的湖面，水上有薄雾，远处是群山。
静かな湖の夜明け、水面に霧、遠くに山々。
고요한 호수의 새벽, 물 위의 안개, 멀리 보이는 산.
بحيرة هادئة عند الفجر وضباب فوق الماء وجبال بعيدة.
शांत झील पर सुबह, पानी पर धुंध, दूर पहाड़।
The river runs through green meadows and the wind moves the grass.
A desert at noon, an ocean at night, a city in the rain, a garden in spring."""
# Our own few rules in place of a full table of Unicode: what they become, and from what.
RULES = [("①", "1"), ("ﬁ", "fi"), ("ﬂ", "fl"), ("Ａ", "A"), ("Ｂ", "B"), ("ａ", "a"), ("ｂ", "b"), ("，", ","), ("。", "."), ("；", ";"), ("\u3000", " "), ("\t", " "),
         ("\n", " "), ("\u00a0", " "), ("e\u0301", "é"), ("a\u0300", "à"), ("u\u0308", "ü"), ("…", "..."), ("\u200b", ""), ("℃", "°C"), ("ㇰ", "ク"), ("a\u0300\u0301", "ậ"), ("½", "1⁄2")]
TEXTS = ["", " ", "a", "  a  b  ", "A quiet lake at dawn.", "the the the", "the mountains in the mist", "THE CAMERA", "forest\tof\npines", "x", "☃", "☃☃☃ snow ☃ ☃",
         "日本の湖", "ﬁlm ﬂow ①②③", "Ａｂ，。；ａＢ", "cafe\u0301 e\u0301e\u0301 a\u0300\u0301 a\u0300", "u\u0308ber über", "…", "\u200b\u200b", "a\u200bb", "\u3000湖\u3000水\u3000", "20℃ ½",
         "<cam>", "the<cam>lake <cam> <cam><cam>", "</s> <pad> <unk> <s>", "<0x41>", "▁", "▁▁the▁lake", "a▁b", "👩‍👩‍👧 family", "\ud7ff\ue000", "zzzzqqqq", "8k, 35mm", "don't", "l'eau l'aube",
         "Тихое море", "고요한 산", "بحر هادئ", "शांत पानी", "a" * 300, "the lake " * 60, "混合 mixed テキスト text", "\u0301", "e\u0301\u0301", "٣٤", "end  ", "\u00a0nbsp\u00a0\u00a0", "ㇰㇰ", "…………"]
TEXTS += LINES.split("\n")
def train(name, **more):
    rules = os.path.join(HERE, "rules.tsv")
    with open(rules, "w") as f:
        for a, b in RULES: f.write(" ".join("%04X" % ord(c) for c in a) + "\t" + " ".join("%04X" % ord(c) for c in b) + "\n")
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(sentence_iterator=iter(LINES.split("\n") * 3), model_writer=out, model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
                                   normalization_rule_tsv=rules, num_threads=1, hard_vocab_limit=False, max_sentencepiece_length=16, **more)
    os.remove(rules)
    with open(os.path.join(HERE, name), "wb") as f: f.write(out.getvalue())
    return spm.SentencePieceProcessor(model_proto=out.getvalue())
def charsmap(data):     # field 3 (normalizer_spec), field 2
    def walk(b):
        i = 0
        while i < len(b):
            def var():
                nonlocal i; v = s = 0
                while True:
                    c = b[i]; i += 1; v |= (c & 127) << s; s += 7
                    if c < 128: return v
            t = var()
            if t & 7 == 2: n = var(); yield t >> 3, b[i:i + n]; i += n
            elif t & 7 == 0: yield t >> 3, var()
            else: n = 4 if t & 7 == 5 else 8; yield t >> 3, b[i:i + n]; i += n
    return next(v for k, v in walk(next(v for k, v in walk(data) if k == 3)) if k == 2)
def convert(sp, name, model):
    vocab = [(sp.id_to_piece(i), sp.get_score(i)) for i in range(sp.get_piece_size())]
    t = Tokenizer(models.Unigram(vocab, 2, False))
    t.normalizer = normalizers.Precompiled(charsmap(open(os.path.join(HERE, model), "rb").read()))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    t.add_special_tokens(["<pad>", "</s>", "<unk>"])
    t.save(os.path.join(HERE, name)); return t
plain = train("plain.model", vocab_size=420, character_coverage=0.98)
bytes_ = train("bytes.model", vocab_size=600, character_coverage=0.98, byte_fallback=True, user_defined_symbols=["<cam>", "<cam><cam>"])
fast = convert(plain, "plain.json", "plain.model")
golden = [{"text": t, "plain": plain.encode(t), "bytes": bytes_.encode(t), "fast": fast.encode(t, add_special_tokens=False).ids} for t in TEXTS]
differ = [g["text"] for g in golden if g["plain"] != g["fast"]]
print(len(golden), "texts;", plain.get_piece_size(), bytes_.get_piece_size(), "pieces; the packages differ on", differ)
json.dump(golden, open(os.path.join(HERE, "golden.json"), "w"), ensure_ascii=True, indent=0)
