"""How people say when something was, and whose word it is, in the languages of the chats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_UNITS: Final = ("minute", "hour", "day", "week", "month", "year")
_NUMBERED: Final = tuple(map(str, range(1, 13)))


@dataclass(frozen=True, slots=True)
class DateWords:
    """Words of one language; `{}` takes the rest of the phrase."""

    now: str
    yesterday: str
    ago: str
    units: str
    """Minute to year, each as one/several, or as one/few/many where numbers ask for three forms."""
    date: str
    """Made of {day}, {month} (its name) and {year}."""
    months: str
    earlier: str
    until: str
    """What follows `earlier`: {} is how long ago it changed."""
    long_ago: str
    said_by: str
    thought_of: str
    space: str = " "
    """What stands between a number and its unit."""
    eleven_like_one: bool = False
    """Whether 21 takes the form of 1, as in Russian."""

    def distance(self, number: int, unit: str) -> str:
        """Return "3 weeks ago"; `unit` is minute, hour, day, week, month or year."""
        forms = self.units.split(" ")[_UNITS.index(unit)].split("/")
        return self.ago.format(f"{number}{self.space}{forms[self._form(number, len(forms))]}")

    def day(self, day: int, month: int, year: int) -> str:
        """Return the date in words."""
        names = self.months.split() or _NUMBERED
        return self.date.format(day=day, month=names[month - 1], year=year)

    def _form(self, number: int, forms: int) -> int:
        if forms < 3:
            return 0 if number == 1 else forms - 1
        if number == 1 or (self.eleven_like_one and number % 10 == 1 and number % 100 != 11):
            return 0
        return 1 if number % 10 in {2, 3, 4} and number % 100 not in {12, 13, 14} else 2


ENGLISH: Final = DateWords(
    now="just now",
    yesterday="yesterday",
    ago="{} ago",
    units="minute/minutes hour/hours day/days week/weeks month/months year/years",
    date="{day} {month} {year}",
    months="January February March April May June July August September October November December",
    earlier="earlier",
    until="until {}",
    long_ago="long ago",
    said_by="as said by {}",
    thought_of="a thought of {}",
)

_WORDS: Final = {
    "de": DateWords(
        now="gerade eben",
        yesterday="gestern",
        ago="vor {}",
        units="Minute/Minuten Stunde/Stunden Tag/Tagen Woche/Wochen Monat/Monaten Jahr/Jahren",
        date="{day}. {month} {year}",
        months="Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        earlier="früher",
        until="bis {}",
        long_ago="vor langer Zeit",
        said_by="wie {} sagte",
        thought_of="ein Gedanke von {}",
    ),
    "fr": DateWords(
        now="à l'instant",
        yesterday="hier",
        ago="il y a {}",
        units="minute/minutes heure/heures jour/jours semaine/semaines mois an/ans",
        date="{day} {month} {year}",
        months="janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        earlier="auparavant",
        until="jusqu'à : {}",
        long_ago="il y a longtemps",
        said_by="selon {}",
        thought_of="une pensée de {}",
    ),
    "es": DateWords(
        now="ahora mismo",
        yesterday="ayer",
        ago="hace {}",
        units="minuto/minutos hora/horas día/días semana/semanas mes/meses año/años",
        date="{day} de {month} de {year}",
        months="enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        earlier="antes",
        until="hasta {}",
        long_ago="hace mucho tiempo",
        said_by="según {}",
        thought_of="un pensamiento de {}",
    ),
    "pt": DateWords(
        now="agora mesmo",
        yesterday="ontem",
        ago="há {}",
        units="minuto/minutos hora/horas dia/dias semana/semanas mês/meses ano/anos",
        date="{day} de {month} de {year}",
        months="janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        earlier="antes",
        until="até {}",
        long_ago="há muito tempo",
        said_by="segundo {}",
        thought_of="um pensamento de {}",
    ),
    "it": DateWords(
        now="proprio ora",
        yesterday="ieri",
        ago="{} fa",
        units="minuto/minuti ora/ore giorno/giorni settimana/settimane mese/mesi anno/anni",
        date="{day} {month} {year}",
        months="gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre "
        "novembre dicembre",
        earlier="prima",
        until="fino a {}",
        long_ago="molto tempo fa",
        said_by="come disse {}",
        thought_of="un pensiero di {}",
    ),
    "nl": DateWords(
        now="zojuist",
        yesterday="gisteren",
        ago="{} geleden",
        units="minuut/minuten uur dag/dagen week/weken maand/maanden jaar",
        date="{day} {month} {year}",
        months="januari februari maart april mei juni juli augustus september oktober november december",
        earlier="eerder",
        until="tot {}",
        long_ago="lang geleden",
        said_by="volgens {}",
        thought_of="een gedachte van {}",
    ),
    "sv": DateWords(
        now="nyss",
        yesterday="i går",
        ago="för {} sedan",
        units="minut/minuter timme/timmar dag/dagar vecka/veckor månad/månader år",
        date="{day} {month} {year}",
        months="januari februari mars april maj juni juli augusti september oktober november december",
        earlier="tidigare",
        until="ändrat {}",
        long_ago="för länge sedan",
        said_by="enligt {}",
        thought_of="en tanke av {}",
    ),
    "pl": DateWords(
        now="przed chwilą",
        yesterday="wczoraj",
        ago="{} temu",
        units="minutę/minuty/minut godzinę/godziny/godzin dzień/dni/dni tydzień/tygodnie/tygodni "
        "miesiąc/miesiące/miesięcy rok/lata/lat",
        date="{day} {month} {year}",
        months="stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października "
        "listopada grudnia",
        earlier="wcześniej",
        until="zmienione {}",
        long_ago="dawno temu",
        said_by="według: {}",
        thought_of="myśl: {}",
    ),
    "ru": DateWords(
        now="только что",
        yesterday="вчера",
        ago="{} назад",
        units="минуту/минуты/минут час/часа/часов день/дня/дней неделю/недели/недель "
        "месяц/месяца/месяцев год/года/лет",
        date="{day} {month} {year} г.",
        months="января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        earlier="раньше",
        until="изменилось {}",
        long_ago="давным-давно",
        said_by="со слов: {}",
        thought_of="мысль: {}",
        eleven_like_one=True,
    ),
    "tr": DateWords(
        now="az önce",
        yesterday="dün",
        ago="{} önce",
        units="dakika saat gün hafta ay yıl",
        date="{day} {month} {year}",
        months="Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
        earlier="eskiden",
        until="{} değişti",
        long_ago="uzun zaman önce",
        said_by="söyleyen: {}",
        thought_of="düşünen: {}",
    ),
    "id": DateWords(
        now="baru saja",
        yesterday="kemarin",
        ago="{} yang lalu",
        units="menit jam hari minggu bulan tahun",
        date="{day} {month} {year}",
        months="Januari Februari Maret April Mei Juni Juli Agustus September Oktober November Desember",
        earlier="dulu",
        until="sampai {}",
        long_ago="dahulu kala",
        said_by="kata {}",
        thought_of="pikiran {}",
    ),
    "vi": DateWords(
        now="vừa xong",
        yesterday="hôm qua",
        ago="{} trước",
        units="phút giờ ngày tuần tháng năm",
        date="ngày {day} tháng {month} năm {year}",
        months="",
        earlier="trước đây",
        until="cho đến {}",
        long_ago="ngày xưa",
        said_by="theo lời {}",
        thought_of="suy nghĩ của {}",
    ),
    "zh": DateWords(
        now="刚才",
        yesterday="昨天",
        ago="{}前",
        units="分钟 小时 天 周 个月 年",
        date="{year}年{month}月{day}日",
        months="",
        earlier="以前",
        until="直到{}",
        long_ago="很久以前",
        said_by="据{}说",
        thought_of="{}的想法",
        space="",
    ),
    "ja": DateWords(
        now="たった今",
        yesterday="昨日",
        ago="{}前",
        units="分 時間 日 週間 か月 年",
        date="{year}年{month}月{day}日",
        months="",
        earlier="以前",
        until="{}まで",
        long_ago="ずっと昔",
        said_by="{}の話",
        thought_of="{}の思い",
        space="",
    ),
    "ko": DateWords(
        now="방금",
        yesterday="어제",
        ago="{} 전",
        units="분 시간 일 주 개월 년",
        date="{year}년 {month}월 {day}일",
        months="",
        earlier="이전",
        until="{}까지",
        long_ago="오래전",
        said_by="{}의 말",
        thought_of="{}의 생각",
        space="",
    ),
    "th": DateWords(
        now="เมื่อครู่นี้",
        yesterday="เมื่อวาน",
        ago="{}ที่แล้ว",
        units="นาที ชั่วโมง วัน สัปดาห์ เดือน ปี",
        date="{day} {month} {year}",
        months="มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม",
        earlier="ก่อนหน้านี้",
        until="จนถึง{}",
        long_ago="นานมาแล้ว",
        said_by="ตามที่{}พูด",
        thought_of="ความคิดของ{}",
    ),
}


def date_words(language: str) -> DateWords:
    """Return the words of a language as `bot.core.languages` names it; English ones where there are none."""
    return _WORDS.get(language, ENGLISH)
