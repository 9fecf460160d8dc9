"""The eight emotions, their scale, and their names as models write them in many languages."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

EMOTIONS: Final = ("joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation")
LOWEST: Final = 1.0
HIGHEST: Final = 10.0

_WORDS: Final[dict[str, str]] = {
    "joy": (
        "joy joyful joyfulness happiness happy delight joie bonheur freude glück alegría felicidad alegria "
        "felicidade gioia felicità kegembiraan sukacita kebahagiaan senang gembira 喜悦 喜悅 快乐 快樂 高兴 "
        "开心 喜び 喜 기쁨 행복 радость счастье radość szczęście sevinç neşe mutluluk vreugde blijdschap "
        "glädje ความสุข ความยินดี vui niềm-vui فرح"
    ),
    "acceptance": (
        "acceptance accepting trust trusting acceptation confiance akzeptanz vertrauen aceptación confianza "
        "aceitação confiança accettazione fiducia penerimaan kepercayaan percaya 接受 接纳 接納 信任 信赖 "
        "受容 信頼 수용 신뢰 принятие доверие akceptacja zaufanie kabul kabullenme güven acceptatie "
        "vertrouwen acceptans tillit การยอมรับ ความไว้วางใจ tin-tưởng chấp-nhận قبول ثقة"
    ),
    "fear": (
        "fear fearful afraid peur crainte angst furcht miedo temor medo paura ketakutan takut 恐惧 恐懼 害怕 "
        "恐れ 恐怖 두려움 공포 страх strach korku vrees rädsla ความกลัว sợ-hãi خوف"
    ),
    "surprise": (
        "surprise surprised astonishment étonnement überraschung sorpresa surpresa kejutan terkejut 惊讶 "
        "驚訝 惊奇 惊喜 吃惊 驚き 놀람 놀라움 удивление zaskoczenie zdziwienie şaşkınlık sürpriz verrassing "
        "överraskning förvåning ความประหลาดใจ ngạc-nhiên مفاجأة"
    ),
    "sadness": (
        "sadness sad sorrow grief tristesse traurigkeit trauer tristeza tristezza kesedihan sedih 悲伤 悲傷 "
        "难过 悲哀 悲しみ 슬픔 грусть печаль smutek üzüntü hüzün verdriet droefheid sorg sorgsenhet ความเศร้า "
        "nỗi-buồn buồn حزن"
    ),
    "disgust": (
        "disgust disgusted loathing dégoût ekel abscheu asco disgusto repugnancia nojo repulsa "
        "kejijikan jijik 厌恶 厭惡 嫌恶 嫌悪 혐오 отвращение wstręt obrzydzenie iğrenme tiksinti "
        "walging afkeer avsky äckel ความรังเกียจ ghê-tởm اشمئزاز"
    ),
    "anger": (
        "anger angry rage colère wut zorn ärger ira enojo enfado raiva rabbia kemarahan marah 愤怒 憤怒 生气 "
        "怒り 분노 гнев злость gniew złość öfke kızgınlık woede boosheid ilska ความโกรธ giận-dữ tức-giận غضب"
    ),
    "anticipation": (
        "anticipation anticipating expectation expectancy attente erwartung antizipation anticipación "
        "expectativa antecipação anticipazione attesa aspettativa antisipasi harapan 期待 预期 預期 기대 "
        "ожидание предвкушение oczekiwanie beklenti verwachting anticipatie förväntan ความคาดหวัง "
        "mong-đợi ترقب"
    ),
}


def _table() -> dict[str, str]:
    return {
        word.replace("-", " ").casefold(): name for name, words in _WORDS.items() for word in words.split()
    }


NAMES: Final[Mapping[str, str]] = MappingProxyType(_table())
"""Lower-cased word to one of the eight names. Read only."""
